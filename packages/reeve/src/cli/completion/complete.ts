import type { Invocation } from '../command.ts'
import { COMMANDS, GROUPS } from '../commands.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { flagsOf } from '../command-flags.ts'
import { LOCAL_COMMANDS } from './local-commands.ts'
import { liveValues } from './live-values.ts'
import { offersFor, type Offer } from './offers.ts'

/** Somebody waits with a finger on the key. */
const LIVE_MS_MAX = 1_000

/** `__complete WORDS…`: one offer on a line, with what it is behind a tab. Never fails. */
export async function runComplete(invocation: Invocation): Promise<number> {
  const known = [...COMMANDS.map((spec) => ({ ...spec, flags: flagsOf(spec) })), ...LOCAL_COMMANDS]
  const { offers, completes, typed } = offersFor(invocation.args, { known, groups: GROUPS })
  const live = completes === undefined ? [] : await soon(liveValues(invocation, completes, typed))
  for (const { text, says } of [...offers, ...live]) invocation.host.out(`${text}\t${says}\n`)
  return EXIT_CODES.ok
}

/** A server that is down or slow offers nothing. */
async function soon(values: Promise<readonly Offer[]>): Promise<readonly Offer[]> {
  const late = new Promise<readonly Offer[]>((resolve) => {
    setTimeout(() => resolve([]), LIVE_MS_MAX).unref()
  })
  return await Promise.race([values.catch(() => []), late])
}
