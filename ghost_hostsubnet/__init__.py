"""Creates and checks the HostSubnet that represents the BIG-IP in OpenShift's SDN.

The SDN gives a subnet to each Node. A HostSubnet without a Node, a ghost, reserves one for the BIG-IP and
makes every node send the subnet's packets to the BIG-IP's internal address. Source:
OpenShift 3.11 documentation, "Using the F5 Router Plug-in", Setting Up F5 Native Integration.
"""
