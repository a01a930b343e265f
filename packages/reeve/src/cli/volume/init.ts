import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { writeExample } from '../spec-file/write-example.ts'

const CREATED = `name      = "shop-data"
plugin_id = "mkdir"

# Groups mount the volume with one of these access modes.
capability {
  access_mode = "single-node-writer"
}

# The servers choose a node that satisfies all constraints.
constraint {
  attribute = "\${attr.kernel.name}"
  value     = "linux"
}

parameters {
  mode = "0750"
}
`

const REGISTERED = `name      = "shop-data"
node_id   = "ID of the node, from: reeve node status --verbose"
host_path = "/srv/shop-data"

# Groups mount the volume with one of these access modes.
capability {
  access_mode = "single-node-writer"
}
`

/** `volume init`: writes an example that `volume create` accepts, or `volume register`. */
export async function runVolumeInit(invocation: CommandContext): Promise<number> {
  const { args, flags } = invocation
  const file = args[0] ?? 'volume.hcl'
  const isRegister = flags.has('register')
  const next = `reeve volume ${isRegister ? 'register' : 'create'} ${file}`
  await writeExample(invocation, {
    file,
    text: isRegister ? REGISTERED : CREATED,
    next: [next],
  })
  return EXIT_CODES.ok
}
