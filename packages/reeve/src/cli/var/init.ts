import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { writeExample } from '../spec-file/write-example.ts'

const EXAMPLE = `path = "apps/web/db"

items {
  username = "web"
  password = "change me"
}
`

/** `var init`: writes an example that `var put` accepts. */
export async function runVarInit(invocation: CommandContext): Promise<number> {
  const file = invocation.args[0] ?? 'spec.var.hcl'
  await writeExample(invocation, { file, text: EXAMPLE, next: [`reeve var put ${file}`] })
  return EXIT_CODES.ok
}
