import { randomUUID } from 'node:crypto'
import { hostname, networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { isatty } from 'node:tty'
import type { Clock, IdSource, Random } from '@reeve/kit/clock.ts'
import type { HostInfo } from './config/option.ts'

/** The maximum of setTimeout, which uses 32 bits; longer delays are split. */
const TIMEOUT_MS_MAX = 2 ** 31 - 1

/**
 * The system clock. Its timers are unreferenced; `reeve agent` keeps the process running itself.
 */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(delayMs, wake) {
    let timer: NodeJS.Timeout
    const arm = (leftMs: number): void => {
      const step = Math.min(leftMs, TIMEOUT_MS_MAX)
      timer = setTimeout(() => (leftMs > step ? arm(leftMs - step) : wake()), step)
      timer.unref()
    }
    arm(Math.max(0, delayMs))
    return () => clearTimeout(timer)
  },
}

export const systemIds: IdSource = { uuid: () => randomUUID() }

export const systemRandom: Random = { next: () => Math.random() }

export function readHostInfo(): HostInfo {
  return {
    hostName: hostname(),
    address: findAddress(),
    workingDirectory: process.cwd(),
    temporaryDirectory: join(tmpdir(), `reeve-dev-${randomUUID()}`),
    isErrorTerminal: isatty(process.stderr.fd),
  }
}

/**
 * Returns the first non-loopback address, IPv4 before IPv6. The result is stable on one machine.
 */
function findAddress(): string | undefined {
  const all = Object.entries(networkInterfaces())
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, addresses = []]) => addresses.filter(({ internal }) => !internal))
  // Link-local addresses are only valid together with their interface.
  const usable = all.filter(({ scopeid = 0 }) => scopeid === 0)
  return (usable.find(({ family }) => family === 'IPv4') ?? usable[0])?.address
}

/**
 * Returns the first `charsMax` characters of UTF-8 and stops reading there. Of an interrupted
 * stream it returns the part that was received.
 */
export async function readTextUpTo(
  chunks: AsyncIterable<Uint8Array>,
  charsMax: number,
): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  try {
    for await (const chunk of chunks) {
      text += decoder.decode(chunk, { stream: true })
      if (text.length >= charsMax) break
    }
  } catch {
    // Callers have the status of the response; an interrupted body adds nothing to it.
  }
  return text.slice(0, charsMax)
}
