// The rig's own small programs: the container that holds a pod's namespaces, and the server under test.
module pilotlight/test/cluster/tools/support

go 1.25.0
