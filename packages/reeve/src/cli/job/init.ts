import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { writeExample } from '../spec-file/write-example.ts'
import { EXAMPLE_JOBS, EXAMPLE_KINDS } from './example-jobs.ts'

/** `job init`: writes an example job file that is valid and runs. */
export async function runJobInit(invocation: CommandContext): Promise<number> {
  const { args, flags } = invocation
  const kind = flags.oneOf('kind', EXAMPLE_KINDS) ?? 'service'
  const file = args[0] ?? 'example.hcl'
  await writeExample(invocation, {
    file,
    text: EXAMPLE_JOBS[kind],
    next: [`reeve job plan ${file}`, `reeve job run ${file}`],
  })
  return EXIT_CODES.ok
}
