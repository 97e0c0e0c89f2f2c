"""How the BIG-IP reaches pods: pool members, VxLAN, static routes, node ports. No I/O."""
