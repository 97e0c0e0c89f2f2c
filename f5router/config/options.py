"""The table of all settings: flag, variable, default and meaning of each; reader.py finds their values.

The flags of the command line are made of OPTIONS, and so are the tables of docs/configuration.md
(tools/settings_tables.py).
Sources: openshift/origin v3.11.0, pkg/cmd/infra/router/f5.go: F5Router.Bind (names and defaults of the
BIG-IP's settings), and router.go: RouterSelection.Bind; openshift/router, the same file (the router's).
"""

from collections.abc import Mapping

from f5router.admission.route_options import parse_allowed
from f5router.config import (
    client_options,
    front_end_options,
    option,
    parsers,
    placement_options,
    source_options,
)
from f5router.config.option import (
    ADMISSION,
    BIGIP,
    CLUSTER,
    HA,
    LOGGING,
    OBJECTS,
    PODS,
    ROUTER,
    SELECTION,
    SERVING,
    TIMING,
    UPLOAD,
    VXLAN,
    Option,
    boolean,
)
from f5router.model import (
    header_actions,
    hostnames,
    route_options,
    selection,
    texts,
)
from f5router.network import node_ports, pool_members

_HOST = "ROUTER_EXTERNAL_HOST_"
_NAME, _PATH, _GO, _SELECTOR = "NAME", "FILE", "DURATION", "SELECTOR"
_ALGORITHMS = "|".join(route_options.ALGORITHMS)

_BIGIP = (
    Option("f5-host", _HOST + "HOSTNAME", "", BIGIP,
           "Host name or address of the BIG-IP's management interface, with an optional https:// and port. "
           "For the units of a pair, repeat the flag or separate the addresses with commas. Required.",
           "HOST[:PORT]", option.unit_hosts, repeats=True),
    Option("f5-username", _HOST + "USERNAME", "", BIGIP,
           "User for iControl REST and SSH. Required: here, in a file or in the credentials directory.",
           _NAME, parsers.username),
    Option("f5-password", _HOST + "PASSWORD", "", BIGIP,
           "Password of --f5-username. Required: here, in a file or in the credentials directory. As a flag, "
           "it is visible in the process list.",
           "PASSWORD", parsers.password, secret=True),
    Option("f5-username-file", _HOST + "USERNAME_FILE", "", BIGIP,
           "File with the user name.", _PATH),
    Option("f5-password-file", _HOST + "PASSWORD_FILE", "", BIGIP,
           "File with the password.", _PATH, secret=True),
    Option("f5-credentials-dir", _HOST + "CREDENTIALS_DIR", "", BIGIP,
           "Directory with the files username, password and, optionally, url: a mounted bigip-login Secret.",
           "DIRECTORY"),
    boolean("f5-insecure", _HOST + "INSECURE", "false", BIGIP,
            "Do not verify the BIG-IP's certificate."),
    Option("f5-ca-bundle", _HOST + "CA_BUNDLE", "", BIGIP,
           "PEM file of trusted CAs for the BIG-IP's certificate. Default: the system's CAs.", _PATH),
    Option("f5-auth", _HOST + "AUTH", "token", BIGIP,
           "Login method: token, or basic for users who may not have tokens and for TMOS 11.",
           "token|basic", parsers.choice("token", "basic")),
    Option("f5-connect-timeout", "ROUTER_F5_CONNECT_TIMEOUT", "10", BIGIP,
           "Seconds to wait for a connection.", "SECONDS", parsers.number("seconds", 0.1, 3600)),
    Option("f5-timeout", "ROUTER_F5_TIMEOUT", "60", BIGIP,
           "Seconds to wait for a reply. The BIG-IP itself gives up after 60.",
           "SECONDS", parsers.number("seconds", 1, 3600)),
    Option("f5-max-in-flight", "ROUTER_F5_MAX_IN_FLIGHT", "4", BIGIP,
           "Maximum number of requests in flight, 1 to 32.", "N", parsers.integer(1, 32)),
)

_UPLOAD = (
    Option("cert-upload", "ROUTER_CERT_UPLOAD", "auto", UPLOAD,
           "How to upload certificate files: ssh, rest, or auto: ssh if the private key is configured and "
           "present, else rest.", "auto|ssh|rest", parsers.choice("auto", "ssh", "rest")),
    Option("f5-private-key", _HOST + "PRIVKEY", "", UPLOAD,
           "Private key file for SSH, without a passphrase. If the file is missing, a warning is logged.",
           _PATH),
    Option("f5-ssh-port", _HOST + "SSH_PORT", "22", UPLOAD,
           "Port of the BIG-IP's SSH server.", "PORT", parsers.integer(1, 65535)),
    Option("f5-ssh-known-hosts", _HOST + "SSH_KNOWN_HOSTS", "", UPLOAD,
           "known_hosts file with the BIG-IP's SSH host key.", _PATH),
    Option("f5-ssh-host-key", _HOST + "SSH_HOST_KEY", "", UPLOAD,
           "Fingerprints of the BIG-IP's SSH host key, separated by commas. Takes precedence over "
           "--f5-ssh-known-hosts.", "SHA256:...", parsers.host_key),
    boolean("f5-ssh-insecure", _HOST + "SSH_INSECURE", "false", UPLOAD,
            "Accept any SSH host key."),
)

_OBJECTS = (
    Option("f5-partition-path", _HOST + "PARTITION_PATH", "/Common", OBJECTS,
           "Partition, or folder in a partition, with the virtual servers and all objects that the router "
           "creates. The partition must exist.", "PATH", parsers.partition_path),
    Option("f5-node-partition", "ROUTER_F5_NODE_PARTITION", "", OBJECTS,
           "Partition of the LTM nodes of pool members, for routers in several partitions that share pods: "
           "/Common, or the partition of --f5-partition-path. Default: LTM nodes are created with the pool "
           "members.", "PATH", parsers.partition),
    Option("f5-http-vserver", _HOST + "HTTP_VSERVER", "ose-vserver", OBJECTS,
           "Virtual server for HTTP, without its folder. --f5-http-vserver= disables HTTP; an empty "
           "variable counts as unset.", _NAME, parsers.virtual_server),
    Option("f5-https-vserver", _HOST + "HTTPS_VSERVER", "https-ose-vserver", OBJECTS,
           "Virtual server for HTTPS, without its folder. --f5-https-vserver= disables HTTPS; an empty "
           "variable counts as unset.", _NAME, parsers.virtual_server),
    Option("f5-pool-monitor", "ROUTER_F5_POOL_MONITOR", "/Common/tcp", OBJECTS,
           "Monitor of every pool, with its full path. Several, separated by commas, must all be up. Or "
           "\"min 1 of /Common/http /Common/https\", or none.", "MONITOR", parsers.pool_monitor),
    Option("backend-check-interval", "ROUTER_BACKEND_CHECK_INTERVAL", "", OBJECTS,
           "Interval of a TCP monitor that the router creates, which replaces --f5-pool-monitor. A Route "
           "may set another interval.", "TIME", texts.parse_milliseconds),
    boolean("tls-health-checks", "ROUTER_TLS_HEALTH_CHECKS", "false", OBJECTS,
            "Check pods of re-encrypt Routes over TLS, and verify them as requests do: a pod with another "
            "certificate is down. From TMOS 13.1 on, where monitors run in TMM."),
    Option("load-balance-algorithm", "ROUTER_LOAD_BALANCE_ALGORITHM", "", OBJECTS,
           "How the pods of a Route share its connections, unless an annotation sets it or the Route has "
           "several Services. Default: random.", _ALGORITHMS, parsers.choice(*route_options.ALGORITHMS)),
    Option("tcp-balance-scheme", "ROUTER_TCP_BALANCE_SCHEME", "", OBJECTS,
           "How the pods of a passthrough Route share its connections. Default: --load-balance-algorithm "
           "if that is set, else source.", _ALGORITHMS, parsers.choice(*route_options.ALGORITHMS)),
    Option("cookie-name", "ROUTER_COOKIE_NAME", "", OBJECTS,
           "Name of the session cookies that keep clients on a pod, unless a Route sets one. Default: a "
           "hash of the pool's name.", _NAME, route_options.parse_cookie_name),
    Option("set-forwarded-headers", "ROUTER_SET_FORWARDED_HEADERS", route_options.FORWARDED_APPEND, OBJECTS,
           "How the request headers X-Forwarded-... and Forwarded are set, unless a Route has its own "
           "policy: append to the client's headers, replace them, add them if-none is present, or never.",
           "|".join(route_options.FORWARDED_POLICIES), parsers.choice(*route_options.FORWARDED_POLICIES)),
    Option("set-delete-http-request-header", "ROUTER_HTTP_REQUEST_HEADERS", "", OBJECTS,
           "Headers of all requests to set or delete before the Route's own actions: NAME:VALUE:Set or "
           "NAME:Delete, separated by commas, each part percent-encoded.", "ACTIONS",
           header_actions.parse_request_setting),
    Option("set-delete-http-response-header", "ROUTER_HTTP_RESPONSE_HEADERS", "", OBJECTS,
           "Headers of all responses to set or delete after the Route's own actions: NAME:VALUE:Set or "
           "NAME:Delete, separated by commas, each part percent-encoded.", "ACTIONS",
           header_actions.parse_response_setting),
    Option("default-destination-ca-path", "DEFAULT_DESTINATION_CA_PATH", "", OBJECTS,
           "PEM file of CAs for reencrypt Routes without a destinationCACertificate, or none to leave "
           "their pods unverified. Default: OpenShift's service CA if the pod has it; otherwise such "
           "Routes are not served.", _PATH),
    boolean("f5-503-page", "ROUTER_F5_503_PAGE", "true", OBJECTS,
            "Answer 503 with a small page if no Route matches or no pod is available. With false, the "
            "connection is reset."),
    boolean("f5-save-config", "ROUTER_F5_SAVE_CONFIG", "true", OBJECTS,
            "Save the BIG-IP's running configuration after changes, so that it survives a restart of the "
            "device."),
    boolean("allow-mass-delete", "ROUTER_ALLOW_MASS_DELETE", "false", OBJECTS,
            "Delete more than half of the objects that serve requests at once. With false, such deletes "
            "are held until a second list of the cluster confirms them."),
    Option("f5-config-sync", "ROUTER_F5_CONFIG_SYNC", "check", OBJECTS,
           "After changes on a unit of a device group: check logs if the other units lack the changes, "
           "push syncs them to the group, off does nothing.",
           "off|check|push", parsers.choice("off", "check", "push")),
)

_VXLAN = (
    Option("f5-internal-address", _HOST + "INTERNAL_ADDRESS", "", VXLAN,
           "The BIG-IP's address in the Nodes' network, the hostIP of its HostSubnet. Together with "
           "--f5-vxlan-gateway-cidr, it makes the BIG-IP a host of the cluster network. For a pair, one "
           "for each unit, in the order of --f5-host.", "ADDRESS", option.internal_addresses, repeats=True),
    Option("f5-vxlan-gateway-cidr", _HOST + "VXLAN_GW_CIDR", "", VXLAN,
           "The BIG-IP's address in the cluster network: an address of its HostSubnet's subnet, with the "
           "prefix length of the cluster network. For a pair, one for each unit, in the order of "
           "--f5-host.", "ADDRESS/BITS",
           option.gateways, repeats=True),
    boolean("f5-manage-snat", "ROUTER_F5_MANAGE_SNAT", "false", VXLAN,
            "Set source address translation of the virtual servers to automap if none is configured."),
)

_PODS = (
    boolean("f5-static-routes", "ROUTER_F5_STATIC_ROUTES", "false", PODS,
            "Keep a static route on the BIG-IP for each pod network of a Node, via the Node."),
    Option("static-route-node-networks", "ROUTER_STATIC_ROUTE_NODE_NETWORKS", "", PODS,
           "Networks in which a Node's address must lie to be the gateway of its static routes. Default: "
           "the networks of the BIG-IP's self IPs.", "CIDR,...", node_ports.parse_networks),
    Option("pool-member-type", "ROUTER_POOL_MEMBER_TYPE", "cluster", PODS,
           "Type of the pool members: cluster for pods, nodeport for Nodes at the node ports of Services.",
           "cluster|nodeport", parsers.choice("cluster", "nodeport")),
    Option("node-label-selector", "ROUTER_NODE_LABEL_SELECTOR", "", PODS,
           "With nodeport: label selector of the Nodes that are pool members. Default: all Nodes.",
           "SELECTOR", selection.parse_labels),
    Option("nodeport-exclude", "ROUTER_NODEPORT_EXCLUDE", "", PODS,
           "With nodeport: not-ready, unschedulable, or both with a comma. Such Nodes are no pool "
           "members while other Nodes are left.", "STATES",
           parsers.several(*node_ports.STATES)),
    Option("max-pool-members", "ROUTER_MAX_POOL_MEMBERS", "1000", PODS,
           f"Maximum number of members of a pool, pods or Nodes, 1 to {pool_members.MOST_READ}.", "N",
           parsers.integer(1, pool_members.MOST_READ)),
)

_DOMAINS, _ALLOWED = "DOMAIN,...", "PATH=NAMESPACE,..."

_ADMISSION = (
    Option("allowed-domains", "ROUTER_ALLOWED_DOMAINS", "", ADMISSION,
           "Admit only Routes whose host is one of these domains or a subdomain. Default: all.",
           _DOMAINS, hostnames.domains),
    Option("denied-domains", "ROUTER_DENIED_DOMAINS", "", ADMISSION,
           "Reject Routes whose host is one of these domains or a subdomain. Takes precedence over "
           "--allowed-domains.", _DOMAINS, hostnames.domains),
    Option("allowed-policies", "ROUTER_ALLOWED_POLICIES", "", ADMISSION,
           "WAF policies that the administrator has put on the virtual servers for all requests, each with "
           "the namespaces whose Routes may name it. A Route that names another policy is rejected.",
           _ALLOWED, parse_allowed),
    Option("allowed-profiles", "ROUTER_ALLOWED_PROFILES", "", ADMISSION,
           "Server SSL profiles, each with the namespaces whose re-encrypt Routes may name it.",
           _ALLOWED, parse_allowed),
    Option("hostname-template", "ROUTER_SUBDOMAIN", "", ADMISSION,
           "Host of Routes that have none, such as ${name}-${namespace}.apps.example.com.",
           "TEMPLATE", hostnames.template),
    boolean("override-hostname", "ROUTER_OVERRIDE_HOSTNAME", "false", ADMISSION,
            "Use --hostname-template for every Route."),
    Option("override-domains", "ROUTER_OVERRIDE_DOMAINS", "", ADMISSION,
           "Use --hostname-template for Routes whose host is one of these domains or a subdomain.",
           _DOMAINS, hostnames.domains),
    Option("router-domain", "ROUTER_DOMAIN", "", ADMISSION,
           "Domain of Routes that have spec.subdomain but no host.", "DOMAIN", hostnames.domain),
    boolean("disable-namespace-ownership-check", "ROUTER_DISABLE_NAMESPACE_OWNERSHIP_CHECK", "false",
            ADMISSION,
            "Allow Routes of different namespaces to share a host, by path."),
    boolean("allow-wildcard-routes", "ROUTER_ALLOW_WILDCARD_ROUTES", "false", ADMISSION,
            "Admit Routes with wildcardPolicy Subdomain."),
    boolean("extended-validation", "EXTENDED_VALIDATION", "true", ADMISSION,
            "Reject Routes whose TLS settings contradict each other, or whose certificates are not signed "
            "by their caCertificate or are signed with SHA-1 or MD5. Expired certificates are served."),
    boolean("allow-external-certificates", "ROUTER_ENABLE_EXTERNAL_CERTIFICATE", "true", ADMISSION,
            "Use certificates from the Secrets that Routes name in spec.tls.externalCertificate."),
    Option("max-secrets", "ROUTER_MAX_SECRETS", "5000", ADMISSION,
           "Maximum number of Secrets that are read for spec.tls.externalCertificate.", "N",
           parsers.integer(1, 100_000)),
    Option("max-secrets-per-namespace", "ROUTER_MAX_SECRETS_PER_NAMESPACE", "2000", ADMISSION,
           "Maximum number of Secrets of one namespace that are read for spec.tls.externalCertificate.", "N",
           parsers.integer(1, 100_000)),
)

_ROUTER = (
    Option("name", "ROUTER_SERVICE_NAME", "public", ROUTER,
           "Name under which the router writes the status of Routes.", _NAME),
    Option("router-canonical-hostname", "ROUTER_CANONICAL_HOSTNAME", "", ROUTER,
           "DNS name of the router, in lower case and no IP address, copied to the status of Routes.",
           _NAME, parsers.canonical_hostname),
    boolean("update-status", "ROUTER_UPDATE_STATUS", "true", ROUTER,
            "Write the status of Routes."),
    boolean("clean-status", "ROUTER_CLEAN_STATUS", "true", ROUTER,
            "Remove the router's entry from the status of Routes that the router no longer selects."),
    Option("status-rate", "ROUTER_STATUS_RATE", "100", ROUTER,
           "Maximum number of status writes per second; lowered while the API server refuses some.", "N",
           parsers.number("writes per second", 0.1, 1000)),
)

_CLUSTER = (
    Option("config", "", "", CLUSTER,
           "kubeconfig file. Default: KUBECONFIG, then the pod's service account, then the user's own "
           "file.", _PATH),
    Option("context", "", "", CLUSTER,
           "Context of the kubeconfig. Default: the current context.", _NAME),
    Option("master", "KUBERNETES_MASTER", "", CLUSTER,
           "URL of the API server. Takes precedence over the kubeconfig.", "URL", parsers.url, secret=True),
    boolean("watch-endpoints", "ROUTER_WATCH_ENDPOINTS", "false", CLUSTER,
            "Watch Endpoints even if the cluster has EndpointSlices."),
)

_SELECTION = (
    Option("namespace", "ROUTER_NAMESPACE", "", SELECTION,
           "Serve only the objects of this namespace. Default: all namespaces.", _NAME,
           parsers.namespace, short="n"),
    Option("namespace-labels", "NAMESPACE_LABELS", "", SELECTION,
           "Serve only Routes of namespaces that match this label selector. Excludes --namespace.",
           _SELECTOR, selection.parse_labels),
    Option("project-labels", "PROJECT_LABELS", "", SELECTION,
           "Serve only Routes of projects that the account may see and that match this label selector; * "
           "selects all of these. Excludes --namespace and --namespace-labels.", _SELECTOR,
           selection.parse_project_labels),
    Option("labels", "ROUTE_LABELS", "", SELECTION,
           "Serve only Routes that match this label selector.",
           _SELECTOR, selection.parse_labels),
    *source_options.OPTIONS,
    Option("fields", "ROUTE_FIELDS", "", SELECTION, "Serve only Routes that match this field selector.",
           _SELECTOR, selection.parse_fields),
)

_HA = (
    boolean("leader-elect", "ROUTER_LEADER_ELECT", "false", HA,
            "Elect a leader by a Lease: one of several replicas writes, another takes over."),
    Option("leader-elect-lease-duration", "ROUTER_LEADER_ELECT_LEASE_DURATION", "15s", HA,
           "How long other replicas wait for a leader that does not renew its Lease.", _GO,
           parsers.duration(1)),
    Option("leader-elect-renew-deadline", "ROUTER_LEADER_ELECT_RENEW_DEADLINE", "10s", HA,
           "How long a leader keeps writing without renewing the Lease; shorter than the lease duration.",
           _GO, parsers.duration(0)),
    Option("leader-elect-retry-period", "ROUTER_LEADER_ELECT_RETRY_PERIOD", "2s", HA,
           "Time between two attempts to acquire or renew the Lease; the renew deadline must be "
           "more than 1.2 times as long.",
           _GO, parsers.duration(0)),
    Option("leader-elect-resource-name", "ROUTER_LEADER_ELECT_RESOURCE_NAME", "", HA,
           "Name of the Lease. Default: f5router- followed by --name.", _NAME,
           option.object_name),
    Option("leader-elect-resource-namespace", "ROUTER_LEADER_ELECT_RESOURCE_NAMESPACE", "", HA,
           "Namespace of the Lease. Default: the pod's namespace.", _NAME,
           parsers.namespace),
)

_TIMING = (
    Option("hold-off", "ROUTER_HOLD_OFF", "100ms", TIMING,
           "Debounce interval: how long to wait after an event for further events.",
           _GO, parsers.duration(0)),
    Option("hold-off-limit", "ROUTER_HOLD_OFF_LIMIT", "2s", TIMING,
           "Maximum wait while events keep coming; at least the hold-off.", _GO, parsers.duration(0)),
    Option("f5-drift-interval", "ROUTER_F5_DRIFT_INTERVAL", "45s", TIMING,
           "How often the names and generations of the BIG-IP's objects are read, to detect changes made by "
           "others; less often if that is costly, unless it is set.",
           _GO, parsers.duration(1)),
    Option("f5-statistics-interval", "ROUTER_F5_STATISTICS_INTERVAL", "1m", TIMING,
           "Minimum interval of reading the BIG-IP's statistics for metrics; 0 for never.",
           _GO, parsers.duration(0)),
    Option("f5-statistics-pools", "ROUTER_F5_STATISTICS_POOLS", "500", TIMING,
           "Maximum number of pools with metrics of their own; with more, they are added up.",
           "NUMBER", parsers.integer(0, 100_000)),
    Option("f5-statistics-members", "ROUTER_F5_STATISTICS_MEMBERS", "0", TIMING,
           "Maximum number of pool members with metrics of their own, a request for each pool; 0 for none.",
           "NUMBER", parsers.integer(0, 2_000)),
    Option("f5-resync-interval", "ROUTER_F5_RESYNC_INTERVAL", "5m", TIMING,
           "How often the BIG-IP's objects are read again, to repair changes made by others; less often if "
           "that is costly, unless it is set.",
           _GO, parsers.duration(1)),
    Option("resync-interval", "", "30m", TIMING,
           "How often all objects are listed again from the cluster.", _GO, parsers.duration(1)),
)

_LOGGING = (
    Option("log-level", "ROUTER_LOG_LEVEL", "info", LOGGING,
           "debug, info, warning, error or critical, or one of syslog's levels.",
           "LEVEL", parsers.log_level),
    Option("log-format", "ROUTER_LOG_FORMAT", "text", LOGGING,
           "text, or json: one object per line.", "text|json", parsers.choice("text", "json")),
)

_SERVING = (
    Option("listen-addr", "ROUTER_LISTEN_ADDR", "", SERVING,
           "Address for metrics and health; none disables both. Takes precedence over --stats-port. "
           "Default: all addresses.", "ADDRESS:PORT", parsers.listen),
    Option("stats-port", "STATS_PORT", "1936", SERVING,
           "Port for metrics and health; 0 picks a free port, which is logged.", "PORT",
           parsers.integer(0, 65535)),
    Option("stats-user", "STATS_USERNAME", "", SERVING,
           "User who may read metrics and status page, by basic authentication. Default: no login; anybody "
           "may read the metrics.",
           _NAME, parsers.username),
    Option("stats-password", "STATS_PASSWORD", "", SERVING,
           "Password of --stats-user. As a flag, it is visible in the process list.",
           "PASSWORD", parsers.password, secret=True),
    Option("stats-user-file", "STATS_USERNAME_FILE", "", SERVING,
           "File with the user name for metrics and status page.", _PATH),
    Option("stats-password-file", "STATS_PASSWORD_FILE", "", SERVING,
           "File with the password for metrics and status page.", _PATH, secret=True),
    Option("metrics-tls-cert-file", "ROUTER_METRICS_TLS_CERT_FILE", "", SERVING,
           "PEM file with certificate and chain. Together with the key, it enables TLS beside HTTP on the "
           "same port.", _PATH),
    Option("metrics-tls-key-file", "ROUTER_METRICS_TLS_KEY_FILE", "", SERVING,
           "PEM file with the private key of that certificate, without a passphrase.", _PATH),
    Option("metrics-tls-min-version", "ROUTER_METRICS_TLS_MIN_VERSION", "TLSv1.2", SERVING,
           "Minimum TLS version for metrics and health.", "VERSION", parsers.tls_version),
    Option("metrics-tls-ciphers", "ROUTER_METRICS_TLS_CIPHERS", "", SERVING,
           "Ciphers of TLS 1.2 for metrics and health, by OpenSSL's or IANA's names. Default: OpenSSL's "
           "choice.",
           "NAME:..."),
)

OPTIONS: Mapping[str, Option] = {
    option.name: option
    for option in (
        *_BIGIP, *_UPLOAD, *_OBJECTS, *front_end_options.OPTIONS, *placement_options.OPTIONS,
        *client_options.HTTP_OPTIONS, *client_options.TLS_OPTIONS, *_VXLAN, *_PODS,
        *_ADMISSION, *_ROUTER, *_CLUSTER, *_SELECTION, *_HA, *_TIMING, *_LOGGING, *_SERVING,
    )
}
"""By name, in the order of help and documentation."""
