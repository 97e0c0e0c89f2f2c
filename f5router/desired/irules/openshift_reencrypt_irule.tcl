# Managed by f5router: changes made here are overwritten.
#
# TLS towards pods follows the pool that a request goes to. Records of the data-group: a pool with
# its server SSL profile; a virtual server with "plain", where the server SSL profile on it is only
# there to make TLS possible. Pools of other makers keep what their virtual server brought.
# A pool with "services" has a record for each of its Services, POOL/NUMBER with the server SSL profile
# of its pods. The number is the priority group of the pool member.

when SERVER_CONNECTED {
    # Read by openshift_request_irule later in this event: below TMOS 14.1 a variable of an event before
    # HTTP_REQUEST is not there any more with an HTTP/2 profile (clouddocs, HTTP2).
    set f5router_tls 1
    set f5r_pool [LB::server pool]
    if { ![info exists f5router_passthrough] && $f5r_pool ne "" } {
        if { [string index $f5r_pool 0] ne "/" } {
            set f5r_pool "@FOLDER@/$f5r_pool"
        }
        set f5r_profile [class match -value $f5r_pool equals @FOLDER@/ssl_reencrypt_serverssl_dg]
        if { $f5r_profile eq "services" } {
            set f5r_profile ""
            catch {
                set f5r_record "$f5r_pool/[LB::server priority]"
                set f5r_profile [class match -value $f5r_record equals @FOLDER@/ssl_reencrypt_serverssl_dg]
            }
        }

        if { $f5r_profile ne "" || [class match $f5r_pool equals @FOLDER@/ssl_reencrypt_serverssl_dg] } {
            # Rather no answer than clear text to a pod that needs TLS.
            if { $f5r_profile eq "" || [catch {
                # Was disabled for the pool of an earlier request on this connection.
                if { [info exists f5r_plain] } {
                    SSL::enable serverside
                    unset f5r_plain
                }
                SSL::profile $f5r_profile
            }] } {
                log local0.err "f5router: no TLS profile for $f5r_pool; connection rejected"
                reject
            }
        } else {
            set f5r_disable 0
            if { [string first "@FOLDER@/openshift_" $f5r_pool] == 0 } {
                set f5r_disable 1
            } else {
                set f5r_virtual [virtual name]
                if { [string index $f5r_virtual 0] eq "/" } {
                    set f5r_paths [list $f5r_virtual]
                } else {
                    set f5r_paths [list "@FOLDER@/$f5r_virtual" "/Common/$f5r_virtual"]
                }
                foreach f5r_path $f5r_paths {
                    if { [class match -value $f5r_path equals @FOLDER@/ssl_reencrypt_serverssl_dg] eq "plain" } {
                        set f5r_disable 1
                    }
                }
            }
            if { $f5r_disable } {
                set f5r_plain 1
                # Fails where there is no server SSL profile, hence nothing to disable.
                catch { SSL::disable serverside }
            } elseif { [info exists f5r_plain] } {
                unset f5r_plain
                catch { SSL::enable serverside }
            }
        }
    }
}
