import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { writeExample } from '../spec-file/write-example.ts'

const EXAMPLE = `name        = "staging"
description = "Jobs that are tested before they go to production"

meta {
  team = "web"
}

capabilities {
  enabled_task_drivers = ["exec", "docker"]
}

node_pool_config {
  default = "default"
  allowed = ["default"]
}
`

/** `namespace init`: writes an example that `namespace apply` accepts. */
export async function runNamespaceInit(invocation: CommandContext): Promise<number> {
  const file = invocation.args[0] ?? 'namespace.hcl'
  await writeExample(invocation, { file, text: EXAMPLE, next: [`reeve namespace apply ${file}`] })
  return EXIT_CODES.ok
}
