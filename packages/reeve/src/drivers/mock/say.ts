import { pause } from '../../agent/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import type { MockProcess } from './mock-config.ts'

interface Speaker {
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly write: (bytes: Uint8Array) => unknown
}

/** Writes the text, and again as often and as far apart as it shall be; ends with the signal. */
export async function say(output: MockProcess['stdout'], speaker: Speaker): Promise<void> {
  if (output.text === '') return
  const bytes = Buffer.from(output.text)
  for (let times = 0; times <= output.repeats && !speaker.signal.aborted; times += 1) {
    // A pause also where none is asked for: a million repeats must let others have their turn.
    if (times > 0 && !(await pause(speaker.clock, output.everyMs, speaker.signal))) return
    await speaker.write(bytes)
  }
}
