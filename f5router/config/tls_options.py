"""Settings of TLS towards clients, a part of the table in options.py.

Source of names and defaults: openshift/router, pkg/cmd/infra/router/template.go: TemplateRouter.Bind.
"""

from f5router.config.option import TLS, Option

OPTIONS = (
    Option("default-certificate", "DEFAULT_CERTIFICATE", "", TLS,
           "Certificate, chain and private key, PEM, that clients get for whose server name no Route has a "
           "certificate; goes before the two settings below. The flag shows the key in the process list.",
           "PEM", secret=True),
    Option("default-certificate-path", "DEFAULT_CERTIFICATE_PATH", "", TLS,
           "The same in a file, which is read again when it changes; goes before the directory.", "FILE"),
    Option("default-certificate-dir", "DEFAULT_CERTIFICATE_DIR", "", TLS,
           "The same in a directory: tls.crt and, if that holds no key, tls.key.", "DIRECTORY"),
)
