"""The way from the BIG-IP to the pods: pool members, VxLAN, static routes, node ports. No I/O."""
