# Stands in for TMM: runs iRules on one connection after another, a fresh interpreter each.
#
# Input, a line per connection, a Tcl list whose strings are hex:
#   {rule ...} {group {name value ...} ...} virtual {faulty command ...} mode {step argument ...}
# mode: "stream" fires CLIENT_DATA for every segment until TCP::release, as F5 documents; "once" fires
# it only once for each TCP::collect, should a TMOS do that. Steps: accept {}, data BYTES, connected POOL.
# Output, a line, fields between tabs: ok or error; message; command,word,...;...; forwarded; held;
# variable,...

fconfigure stdin -translation lf -encoding ascii
fconfigure stdout -translation lf -encoding ascii

# Of Tcl 8.5 and later, or disabled in TMM. Source: bigip-rest.md B5.
set missing {
    apply chan coroutine dict exec exit fconfigure file fileevent glob interp lassign lmap load
    lrepeat lreverse namespace open package proc puts rename socket source tailcall throw try unknown
    unload update uplevel upvar vwait yield zlib
}

proc text {hex} { encoding convertfrom utf-8 [binary decode hex $hex] }
proc hex {text} { binary encode hex [encoding convertto utf-8 $text] }

# Every TMM command comes through here.
proc command {name args} {
    global connection
    set called [concat [list $name] $args]
    foreach fault $connection(faults) {
        if {[string equal $called $fault] || [string equal $name $fault]} {
            if {$name ni {TCP::payload class binary}} { lappend connection(actions) [concat raised $called] }
            error "fault in $called"
        }
    }
    switch -exact -- $name {
        "TCP::payload" {
            if {[llength $args] == 0} { return $connection(held) }
            if {[lindex $args 0] eq "length"} { return [string length $connection(held)] }
            return [string range $connection(held) 0 [expr {[lindex $args 0] - 1}]]
        }
        "class" { return [class {*}$args] }
        "LB::server" { return $connection(pool) }
        "virtual" { return $connection(virtual) }
        "TCP::collect" { set connection(armed) 1 }
        "TCP::release" {
            if {!$connection(collecting)} { error "TCP::release without TCP::collect" }
            append connection(forwarded) $connection(held)
            set connection(held) ""
            set connection(collecting) 0
            set connection(armed) 0
        }
    }
    if {$name eq "TCP::collect"} { set connection(collecting) 1 }
    lappend connection(actions) $called
    return ""
}

# class match ?-value? ?--? item equals group. As in TMM, a leading - of the item is an option.
proc class {verb args} {
    global connection
    if {$verb ne "match"} { error "class $verb" }
    set value 0
    while {[string match -* [lindex $args 0]]} {
        set option [lindex $args 0]
        set args [lrange $args 1 end]
        if {$option eq "--"} { break }
        if {$option ne "-value"} { error "class match: unknown option" }
        set value 1
    }
    lassign $args item operator group
    if {[llength $args] != 3 || $operator ne "equals"} { error "class match: $args" }
    if {![dict exists $connection(groups) $group]} { error "class match: no such group $group" }
    set records [dict get $connection(groups) $group]
    if {![dict exists $records $item]} { return [expr {$value ? "" : 0}] }
    return [expr {$value ? [dict get $records $item] : 1}]
}

proc when {event body} { lappend ::connection(when,$event) $body }

proc fire {event} {
    global connection slave
    if {![info exists connection(when,$event)]} { return }
    foreach body $connection(when,$event) {
        # 4,000 commands: far more than an event may need, far less than a TMM would notice.
        interp limit $slave commands -value [expr {[$slave eval {info cmdcount}] + 4000}]
        interp limit $slave time -seconds [expr {[clock seconds] + 2}] -granularity 10
        set code [catch { interp eval $slave $body } message]
        interp limit $slave commands -value {}
        interp limit $slave time -seconds {}
        if {$code == 1} { error "$event: $message" }
    }
}

proc step {kind argument} {
    global connection
    switch -exact -- $kind {
        accept { fire CLIENT_ACCEPTED }
        connected {
            set connection(pool) [text $argument]
            fire SERVER_CONNECTED
        }
        data {
            set bytes [binary decode hex $argument]
            if {!$connection(collecting)} {
                append connection(forwarded) $bytes
                return
            }
            append connection(held) $bytes
            if {$connection(mode) eq "stream" || $connection(armed)} {
                set connection(armed) 0
                fire CLIENT_DATA
            }
        }
    }
}

proc run {rules groups virtual faults mode steps} {
    global connection slave missing
    unset -nocomplain connection
    array set connection [list actions {} forwarded "" held "" collecting 0 armed 0 \
        pool "" virtual [text $virtual] mode $mode faults {} groups {}]
    foreach fault $faults { lappend connection(faults) [text $fault] }
    foreach {group records} $groups {
        set decoded {}
        foreach {name value} $records { lappend decoded [text $name] [text $value] }
        dict set connection(groups) [text $group] $decoded
    }
    set slave [interp create]
    set before [$slave eval {info globals}]
    foreach name $missing { $slave hide $name }
    foreach name {
        TCP::collect TCP::payload TCP::release SSL::disable SSL::enable SSL::profile HTTP::disable
        pool class LB::server virtual reject log
    } { $slave alias $name command $name }
    $slave alias when when
    if {"binary" in $connection(faults)} { $slave alias binary command binary }
    set code [catch {
        foreach rule $rules { $slave eval [text $rule] }
        foreach {kind argument} $steps { step $kind $argument }
    } message]
    set variables {}
    foreach name [$slave eval {info globals}] {
        if {$name ni $before && $name ni {errorInfo errorCode}} { lappend variables [hex $name] }
    }
    interp delete $slave
    set actions {}
    foreach action $connection(actions) {
        set words {}
        foreach word $action { lappend words [hex $word] }
        lappend actions [join $words ,]
    }
    return [join [list [expr {$code == 1 ? "error" : "ok"}] [hex $message] [join $actions ";"] \
        [binary encode hex $connection(forwarded)] [binary encode hex $connection(held)] \
        [join $variables ,]] \t]
}

puts "ready [info patchlevel]"
flush stdout
while {[gets stdin line] >= 0} {
    puts [run {*}$line]
    flush stdout
}
