# Runs the events of iRules in child interpreters, one for each connection. interpreter.py drives it.
#
# A message is a line with the sizes of its words, then their bytes. Messages in:
#   language ABSENT DIFFERENT FUNCTIONS             commands that a rule must not have, commands that are
#       TMM's, not Tcl's, and functions of expressions that are newer than 8.4; first of all, no answer
#   rules SET {KIND RULE NAME ARGUMENTS BODY} ...   handlers and procedures of a list of rules; no answer
#   open CONNECTION SET OVERRIDDEN                  no answer
#   run CONNECTION HANDLER MILLISECONDS COMMANDS    answered "done" or "failed MESSAGE"; before that,
#       "call NAME ARGUMENT ..." for each TMM command, answered "ok RESULT", "error MESSAGE" or "stop"
#   later CONNECTION RULE SCRIPT MILLISECONDS COMMANDS    a script of `after`; answered as "run" is
#   set CONNECTION NAME VALUE                       a variable, as a policy sets it; no answer
#   variables CONNECTION                            answered "done NAME VALUE ..."
#   close CONNECTION                                no answer
# Characters of strings are bytes, so that what is binary stays as it is. In library.py each message is a call of
# `handle`, and "call" is the command `ask`, which Python has made.

# -- child interpreters ----------------------------------------------------------------------------

# Evaluated once in every child. The originals that the rest needs move to ::tmm.
set prelude {
    foreach name [info globals] { if {$name ni {errorInfo errorCode}} { unset -nocomplain ::$name } }
    namespace eval ::static {}
    namespace eval ::tmm { variable procs; array set procs {} }
    foreach name {proc incr} { rename $name ::tmm::$name }
    # Tcl 8.5 creates the variable.
    ::tmm::proc incr {name args} {
        upvar 1 $name value
        if {![info exists value]} { error "can't read \"$name\": no such variable" }
        ::tmm::incr value {*}$args
    }
    # TMM's operators: see operators.py.
    ::tmm::proc ::tcl::mathfunc::tmm_contains {a b} { expr {[string first $b $a] >= 0} }
    ::tmm::proc ::tcl::mathfunc::tmm_starts_with {a b} {
        string equal [string range $a 0 [expr {[string length $b] - 1}]] $b
    }
    ::tmm::proc ::tcl::mathfunc::tmm_ends_with {a b} {
        string equal [string range $a [expr {[string length $a] - [string length $b]}] end] $b
    }
    ::tmm::proc ::tcl::mathfunc::tmm_matches {a b} { string match $b $a }
    ::tmm::proc ::tcl::mathfunc::tmm_matches_glob {a b} { string match $b $a }
    ::tmm::proc ::tcl::mathfunc::tmm_matches_regex {a b} { regexp -- $b $a }
    # A procedure of the same rule, or RULE::NAME.
    ::tmm::proc call {name args} {
        set folder [string range $::tmm::rule 0 [string last / $::tmm::rule]]
        foreach path [list $::tmm::rule\::$name $name $folder$name /Common/$name] {
            if {[info exists ::tmm::procs($path)]} {
                set caller $::tmm::rule
                set ::tmm::rule [string range $path 0 [string last :: $path]-1]
                set code [catch { uplevel 1 [linsert $args 0 $::tmm::procs($path)] } result]
                set ::tmm::rule $caller
                return -code $code $result
            }
        }
        error "invalid command name \"$name\""
    }
    # A script on the other side of the connection; without one, whether the event is of this side.
    foreach side {clientside serverside} {
        ::tmm::proc $side {args} "
            if {!\[llength \$args]} { return \[expr {\[::tmm_side] eq {$side}}] }
            set outer \[::tmm_side $side]
            set code \[catch { uplevel 1 \[lindex \$args 0] } result]
            ::tmm_side \$outer
            return -code \$code \$result
        "
    }
    unset side
    foreach {ensemble absent} {string {cat reverse} binary {decode encode} info {
        class coroutine errorstack frame library loaded nameofexecutable object script
    }} {
        set map [namespace ensemble configure $ensemble -map]
        foreach name $absent { dict unset map $name }
        if {$ensemble eq "info"} { dict set map hostname ::tmm_hostname }
        namespace ensemble configure $ensemble -map $map
    }
    unset -nocomplain ensemble absent map name
}

proc make {} {
    global absent different functions prelude
    set child [interp create -safe]
    $child eval $prelude
    foreach name $functions { $child eval [list rename ::tcl::mathfunc::$name {}] }
    foreach name [concat $absent $different] {
        if {[llength [$child eval [list info commands ::$name]]]} { $child hide $name }
    }
    foreach name {oo zlib tcl::chan tcl::dict tcl::file tcl::mathop tcl::prefix tcl::unsupported tcl::zlib} {
        $child invokehidden namespace delete ::$name
    }
    $child alias unknown command
    return $child
}

# A child with the procedures of a list of rules.
proc equip {set} {
    set child [make]
    set number 0
    foreach {kind rule name arguments body} $::rules($set) {
        if {$kind eq "proc"} {
            $child eval [list set ::tmm::procs($rule\::$name) ::tmm::proc$number]
            $child eval [list ::tmm::proc ::tmm::proc$number $arguments $body]
        } else {
            # The body is a literal: compiled at the first run, then kept.
            $child eval [list ::tmm::proc ::tmm::handler$number {} \
                "set ::tmm::rule [list $rule]; uplevel #0 [list $body]"]
        }
        incr number
    }
    return $child
}

proc begin {connection set overridden} {
    global child origin spare
    if {$overridden eq "" && [llength $spare($set)]} {
        set child($connection) [lindex $spare($set) end]
        set spare($set) [lrange $spare($set) 0 end-1]
    } else {
        set child($connection) [equip $set]
        foreach name $overridden { $child($connection) alias $name command $name }
    }
    # A child that ran away or whose commands were replaced is not used again.
    set origin($connection) [expr {$overridden eq "" ? $set : ""}]
}

proc finish {connection} {
    global child origin spare
    if {![info exists child($connection)]} { return }
    if {$origin($connection) ne "" && [llength $spare($origin($connection))] < 32} {
        $child($connection) eval {
            foreach ::tmm::name [info vars ::static::*] { unset -nocomplain $::tmm::name }
            foreach ::tmm::name [info globals] {
                if {$::tmm::name ne "errorInfo" && $::tmm::name ne "errorCode"} { unset ::$::tmm::name }
            }
        }
        lappend spare($origin($connection)) $child($connection)
    } else {
        interp delete $child($connection)
    }
    unset child($connection) origin($connection)
}

# -- events ----------------------------------------------------------------------------------------

proc run {connection handler milliseconds commands} {
    return [execute $connection ::tmm::handler$handler $milliseconds $commands]
}

proc later {connection rule script milliseconds commands} {
    return [execute $connection "set ::tmm::rule [list $rule]; uplevel #0 [list $script]" $milliseconds $commands]
}

proc execute {connection script milliseconds commands} {
    global child origin running deadline stopped
    set running $child($connection)
    set stopped 0
    if {$commands} {
        interp limit $running commands -value [expr {[$running eval {info cmdcount}] + $commands}]
    }
    limit [set deadline [expr {[clock milliseconds] + $milliseconds}]]
    set code [catch { $running eval $script } message options]
    interp limit $running time -seconds {}
    interp limit $running commands -value {}
    if {$code != 1} { return done }
    if {$stopped || [lrange [dict get $options -errorcode] 0 1] eq {TCL LIMIT}} { set origin($connection) "" }
    return [list failed $message]
}

proc limit {at} {
    interp limit $::running time -granularity 10 -milliseconds [expr {$at % 1000}] -seconds [expr {$at / 1000}]
}

# A command that the child does not have. The time that Python takes does not count for the rule.
proc command {name args} {
    global deadline running stopped
    if {$name in $::absent} { error "invalid command name \"$name\"" }
    set asked [clock milliseconds]
    set verdict [catch { ask $name {*}$args } result]
    if {[set waited [expr {[clock milliseconds] - $asked}]]} { limit [incr deadline $waited] }
    switch -exact -- $verdict {
        0 { return $result }
        1 { return -code error $result }
    }
    # No catch of the rule may hide it.
    set stopped 1
    interp cancel -unwind $running
}

proc variables {connection} {
    set found {}
    foreach name [$::child($connection) eval {info globals}] {
        if {$name in {errorInfo errorCode}} { continue }
        if {[$::child($connection) eval [list array exists ::$name]]} {
            set value [$::child($connection) eval [list array get ::$name]]
        } else {
            set value [$::child($connection) eval [list set ::$name]]
        }
        lappend found $name $value
    }
    return $found
}

array set child {}
array set origin {}

# -- messages --------------------------------------------------------------------------------------

# The answer; empty for none.
proc handle {words} {
    global absent different functions rules spare child
    switch -exact -- [lindex $words 0] {
        language { lassign $words - absent different functions }
        rules {
            set rules([lindex $words 1]) [lrange $words 2 end]
            set spare([lindex $words 1]) {}
        }
        open { begin {*}[lrange $words 1 end] }
        close { finish [lindex $words 1] }
        run { return [run {*}[lrange $words 1 end]] }
        later { return [later {*}[lrange $words 1 end]] }
        set { $child([lindex $words 1]) eval [list set ::[lindex $words 2] [lindex $words 3]] }
        variables { return [list done {*}[variables [lindex $words 1]]] }
    }
    return {}
}

# In library.py, `ask` is Python's own, and so is the loop.
if {[llength [info commands ask]]} { return }

fconfigure stdin -translation binary -buffersize 65536
fconfigure stdout -translation binary -buffering full -buffersize 65536

proc receive {} {
    if {[gets stdin sizes] < 0} { exit }
    set words {}
    foreach size $sizes { lappend words [read stdin $size] }
    return $words
}

proc send {words} {
    set sizes {}
    set bytes {}
    foreach word $words {
        # Only escapes such as \u20ac make characters that are no bytes.
        if {[regexp {[^\u0000-\u00ff]} $word]} { set word [encoding convertto utf-8 $word] }
        lappend sizes [string length $word]
        lappend bytes $word
    }
    puts stdout $sizes
    foreach word $bytes { puts -nonewline stdout $word }
    flush stdout
}

proc ask {name args} {
    send [list call $name {*}$args]
    lassign [receive] verdict result
    return -code [dict get {ok ok error error stop break} $verdict] $result
}

send [list ready [info patchlevel]]
while {1} {
    if {[llength [set answer [handle [receive]]]]} { send $answer }
}
