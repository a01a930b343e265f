import type { CommandContext } from '../command.ts'
import { COMMANDS, GROUPS } from '../commands.ts'
import { EXIT_CODES } from '../errors.ts'
import { withGlobalFlags } from '../global-flags.ts'
import { LOCAL_COMMANDS } from './local-commands.ts'
import { lookUpCompletions } from './live-values.ts'
import { completionsFor, type Completion } from './offers.ts'

/** Time limit of a lookup on the server: the user waits for the completion. */
const LOOKUP_TIMEOUT_MS = 1_000

/**
 * `__complete WORDS…`: prints one completion per line, followed by a tab and its description. Never
 * fails.
 */
export async function runComplete(invocation: CommandContext): Promise<number> {
  const known = [
    ...COMMANDS.map((spec) => ({ ...spec, flags: withGlobalFlags(spec) })),
    ...LOCAL_COMMANDS,
  ]
  const { completions, completes, typed } = completionsFor(invocation.args, {
    commands: known,
    groups: GROUPS,
  })
  const live =
    completes === undefined
      ? []
      : await withTimeout(lookUpCompletions(invocation, completes, typed))
  for (const { text, description } of [...completions, ...live])
    invocation.host.out(`${text}\t${description}\n`)
  return EXIT_CODES.ok
}

/** Returns no completions if the server fails or takes too long. */
async function withTimeout(values: Promise<readonly Completion[]>): Promise<readonly Completion[]> {
  const late = new Promise<readonly Completion[]>((resolve) => {
    setTimeout(() => resolve([]), LOOKUP_TIMEOUT_MS).unref()
  })
  return await Promise.race([values.catch(() => []), late])
}
