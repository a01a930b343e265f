import { readFile, stat } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { Fault } from '@reeve/kit/fault.ts'
import { STATE_TIMES } from './limits.ts'
import { PHASE_REFUSED, type PhaseClient } from './phase-client.ts'

/**
 * Stores the state while an apply changes it: the tool rewrites its file after each resource. A
 * lost node loses only the changes of the last seconds.
 */
export class StatePush {
  readonly #path: string
  readonly #client: PhaseClient
  #stored = ''
  #seen = ''
  #seenMs = 0
  #storedMs = Date.now()
  #isEnded = false
  #watching: Promise<void>

  /** `stored` is what the server has. */
  constructor(path: string, client: PhaseClient, stored: string) {
    this.#path = path
    this.#client = client
    this.#stored = stored
    this.#watching = this.#watch()
    // `end` reports it.
    this.#watching.catch(() => undefined)
  }

  /** Stores what the file holds now; the tool has ended. Gives why the server does not take it. */
  async end(): Promise<string | undefined> {
    this.#isEnded = true
    try {
      await this.#watching
      await this.#push(await this.#read())
      return undefined
    } catch (thrown) {
      if (thrown instanceof Fault && thrown.kind === PHASE_REFUSED) return thrown.message
      throw thrown
    }
  }

  async #watch(): Promise<void> {
    let mark = ''
    while (!this.#isEnded) {
      await sleep(STATE_TIMES.lookMs)
      const next = await this.#mark()
      if (next !== mark) {
        mark = next
        this.#seen = await this.#read()
        this.#seenMs = Date.now()
      }
      const nowMs = Date.now()
      const rests = nowMs - this.#seenMs >= STATE_TIMES.restMs
      const isLate = nowMs - this.#storedMs >= STATE_TIMES.latestMs
      if (rests || isLate) await this.#push(this.#seen)
    }
  }

  async #push(state: string): Promise<void> {
    if (state === this.#stored || !isState(state)) return
    await this.#client.send({ method: 'PUT', path: '/state', body: Buffer.from(state) })
    this.#stored = state
    this.#storedMs = Date.now()
  }

  async #mark(): Promise<string> {
    const found = await stat(this.#path).catch(() => undefined)
    return found === undefined ? '' : `${found.mtimeMs}/${found.size}/${found.ino}`
  }

  async #read(): Promise<string> {
    return await readFile(this.#path, 'utf8').catch(() => '')
  }
}

/** The tool may be in the middle of writing. */
function isState(text: string): boolean {
  try {
    return text !== '' && typeof JSON.parse(text) === 'object'
  } catch {
    return false
  }
}
