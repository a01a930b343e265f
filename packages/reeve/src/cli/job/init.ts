import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { messageOf } from '@reeve/kit/fault.ts'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandFailure } from '../failure.ts'
import { EXAMPLE_JOBS, EXAMPLE_KINDS } from './example-jobs.ts'

const FILE_DEFAULT = 'example.hcl'

/** `job init`: a job file that is right and runs, to begin with. */
export async function runJobInit({ args, flags, host, output }: Invocation): Promise<number> {
  const kind = flags.oneOf('kind', EXAMPLE_KINDS) ?? 'service'
  const text = EXAMPLE_JOBS[kind]
  const file = args[0] ?? FILE_DEFAULT
  if (file === '-') {
    host.out(text)
    return EXIT_CODES.ok
  }
  try {
    const flag = flags.has('force') ? 'w' : 'wx'
    await writeFile(resolve(host.directory, file), text, { flag })
  } catch (thrown) {
    if (!(thrown instanceof Error) || !('code' in thrown) || thrown.code !== 'EEXIST') {
      throw new CommandFailure(`${file} cannot be written: ${messageOf(thrown)}.`)
    }
    throw new CommandFailure(`${file} is there already.`, {
      hint: 'Name another file, or give --force to write over it.',
    })
  }
  output.say(`${file} is written. See what it would do, then run it:`)
  output.say(`\n  reeve job plan ${file}\n  reeve job run ${file}`)
  return EXIT_CODES.ok
}
