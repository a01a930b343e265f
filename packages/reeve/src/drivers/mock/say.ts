import { sleep } from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import type { MockProcess } from './mock-config.ts'

interface OutputTarget {
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly write: (bytes: Uint8Array) => unknown
}

/** Writes the text, and again as often and as far apart as it shall be; ends with the signal. */
export async function writeOutput(
  output: MockProcess['stdout'],
  target: OutputTarget,
): Promise<void> {
  if (output.text === '') return
  const bytes = Buffer.from(output.text)
  for (let count = 0; count <= output.repeatCount && !target.signal.aborted; count += 1) {
    // A pause also where none is asked for: a million repeats must let others have their turn.
    if (count > 0 && !(await sleep(target.clock, output.repeatIntervalMs, target.signal))) return
    await target.write(bytes)
  }
}
