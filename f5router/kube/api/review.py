"""Reviews if the router has a right in the cluster, where that must be known before it is used."""

import logging
from collections.abc import Mapping

from f5router.kube.api.connection import Connection
from f5router.model.errors import KubeError

log = logging.getLogger(__name__)

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def may(connection: Connection, verb: str, resource: str, *, group: str = "", subresource: str = "",
        namespace: str = "", name: str = "") -> bool | None:
    """Return True if the right is granted; None if the API server does not say.

    The review is a POST, and nothing is stored. Source: Kubernetes, Authorization, Checking API access.

    Args: namespace, name: "" for all.
    """
    attributes = {"namespace": namespace, "verb": verb, "resource": resource}
    attributes |= {name: value for name, value in (("group", group), ("subresource", subresource),
                                                     ("name", name)) if value}
    try:
        review = connection.request("POST", REVIEWS, body={
            "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes}})
    except KubeError as exc:  # the right to request a review may be missing, too
        log.debug("right not known", extra={"verb": verb, "resource": resource, "namespace": namespace,
                                            "error": str(exc)})
        return None
    status = review.get("status") if isinstance(review, Mapping) else None
    return status.get("allowed") is True if isinstance(status, Mapping) else None
