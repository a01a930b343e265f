import type { BlockDocumentation } from './block.ts'

const HTTP = 'network {\n  port "http" {}\n}\n'
const SERVING = `shutdown_delay = "5s"\n\n${HTTP}`
/** Listens on the port, so that checks pass. */
const SERVER = `driver = "raw_exec"
config {
  command = "/bin/sh"
  args    = ["-c", "exec python3 -m http.server $REEVE_PORT_http"]
}`
const HOST_VOLUME = 'volume "data" {\n  type   = "host"\n  source = "shop-data"\n}'

export const GROUP_BLOCKS: Readonly<Record<string, BlockDocumentation>> = {
  restart: {
    purpose:
      'How often a task that failed is restarted on its node before the allocation fails. A block in ' +
      'a task is merged over the one in the group.',
    example: { group: 'restart {\n  attempts = 5\n  interval = "10m"\n  delay    = "10s"\n}' },
  },
  disconnect: {
    purpose: 'Handling of the allocations of a group when their node loses its connection.',
    example: {
      group:
        'disconnect {\n  lost_after = "10m"\n  replace    = true\n  reconcile  = "best_score"\n}',
    },
  },
  ephemeral_disk: {
    purpose:
      'Disk space of an allocation, for logs, artifacts and the shared directory `alloc/data`. The ' +
      'node reserves it and measures its use once a minute.',
    example: { group: 'ephemeral_disk {\n  size   = 500\n  sticky = true\n}' },
  },
  network: {
    purpose:
      'Ports and the network of a group. Tasks read `REEVE_PORT_<label>` and `REEVE_ADDR_<label>`. ' +
      'A `network` in `resources` of a task is deprecated.',
    example: { group: 'network {\n  port "http" {}\n  port "admin" {\n    static = 9090\n  }\n}' },
  },
  port: {
    purpose:
      'A port that the group listens on. The label names it for services, checks and ' +
      '`REEVE_PORT_<label>`.',
    example: { group: 'network {\n  mode = "bridge"\n  port "http" {\n    to = 8080\n  }\n}' },
  },
  dns: {
    purpose: 'The `resolv.conf` of tasks in a network namespace.',
    example: {
      group:
        'network {\n  mode = "bridge"\n  dns {\n    servers  = ["192.0.2.53"]\n    searches = ["shop.example"]\n  }\n}',
    },
  },
  cni: {
    purpose: 'Arguments for the CNI plugins of a network with `mode = "cni/<name>"`.',
    example: {
      group: 'network {\n  mode = "cni/internal"\n  cni {\n    args = { tenant = "shop" }\n  }\n}',
    },
  },
  service: {
    purpose:
      'Registers an address in the catalogue while the group or task runs: ' +
      '[services](../services.md).',
    example: {
      group: `${SERVING}service {
  name = "shop"
  port = "http"
  tags = ["v1"]
  check {
    type     = "http"
    path     = "/"
    interval = "10s"
    timeout  = "2s"
  }
}`,
      task: SERVER,
    },
  },
  check: {
    purpose:
      'Checks whether an instance of a service is healthy. Deployments wait for checks, and ' +
      '`check_restart` restarts a task whose checks fail. The agent of the node runs them.',
    example: {
      group: `${SERVING}service {
  port = "http"
  check {
    name     = "alive"
    type     = "tcp"
    interval = "5s"
    timeout  = "1s"
  }
}`,
      task: SERVER,
    },
  },
  check_restart: {
    purpose:
      'Restarts a task when a check fails several times in a row. The restart counts as a failure ' +
      'for [restart](restart.md). In a service it applies to all of its checks.',
    example: {
      group: `${SERVING}service {
  port = "http"
  task = "server"
  check {
    type     = "tcp"
    interval = "5s"
    timeout  = "1s"
    check_restart {
      limit = 3
      grace = "20s"
    }
  }
}`,
      task: SERVER,
    },
  },
  weights: {
    purpose: 'Weights of an instance for clients of an external catalogue. No effect here.',
    example: {
      group: `${SERVING}service {\n  port = "http"\n  weights {\n    passing = 5\n    warning = 1\n  }\n}`,
      task: SERVER,
    },
  },
  volume: {
    purpose:
      'A volume that tasks of the group mount with [volume_mount](volume_mount.md). The label is its ' +
      'name in the group. Nodes offer volumes in their configuration (`host_volume`); others are ' +
      'created while the cluster runs: [dynamic host volumes](../../how-to/host-volumes.md).',
    example: {
      group: HOST_VOLUME,
    },
  },
  volume_mount: {
    purpose: 'Mounts a volume of the group into the task.',
    example: {
      group: HOST_VOLUME,
      task: `driver = "exec"
config {
  command = "/bin/sleep"
  args    = ["600"]
}
volume_mount {
  volume      = "data"
  destination = "/data"
}`,
    },
  },
  mount_options: { purpose: 'Mount options of CSI volumes. Rejected on host volumes.' },
  scaling: {
    purpose:
      'Bounds for the count of a group, and a policy for an autoscaler outside of the cluster, which ' +
      'reads it from `/v1/scaling/policies`. In a task the label is `cpu` or `mem`, and the policy ' +
      'is about the resources of the task.',
    example: { group: 'scaling {\n  min = 1\n  max = 10\n  policy {\n    cooldown = "1m"\n  }\n}' },
  },
  policy: {
    purpose: 'Settings for an external autoscaler. Stored as they are written.',
    example: {
      group: 'scaling {\n  min = 1\n  max = 5\n  policy {\n    evaluation_interval = "30s"\n  }\n}',
    },
  },
}
