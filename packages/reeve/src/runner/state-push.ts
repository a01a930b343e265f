import { readFile, stat } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { Fault } from '@reeve/kit/fault.ts'
import { STATE_UPLOAD_TIMES } from './limits.ts'
import { PHASE_REJECTED, type PhaseClient } from './phase-client.ts'

/**
 * Stores the state while an apply changes it: the tool rewrites its file after each resource. A
 * lost node loses only the changes of the last seconds.
 */
export class StateUploader {
  readonly #path: string
  readonly #client: PhaseClient
  #stored = ''
  #latest = ''
  #latestMs = 0
  #storedMs = Date.now()
  #isFinished = false
  #watching: Promise<void>

  /** `stored` is the state that the server has. */
  constructor(path: string, client: PhaseClient, stored: string) {
    this.#path = path
    this.#client = client
    this.#stored = stored
    this.#watching = this.#watch()
    // `end` reports the error; until then the promise is not awaited.
    this.#watching.catch(() => undefined)
  }

  /** Uploads the final state after the tool has ended. Returns why the server rejected it. */
  async finish(): Promise<string | undefined> {
    this.#isFinished = true
    try {
      await this.#watching
      await this.#upload(await this.#read())
      return undefined
    } catch (thrown) {
      if (thrown instanceof Fault && thrown.kind === PHASE_REJECTED) return thrown.message
      throw thrown
    }
  }

  async #watch(): Promise<void> {
    let fingerprint = ''
    while (!this.#isFinished) {
      await sleep(STATE_UPLOAD_TIMES.lookMs)
      const current = await this.#fingerprint()
      if (current !== fingerprint) {
        fingerprint = current
        this.#latest = await this.#read()
        this.#latestMs = Date.now()
      }
      const nowMs = Date.now()
      const isSettled = nowMs - this.#latestMs >= STATE_UPLOAD_TIMES.restMs
      const isLate = nowMs - this.#storedMs >= STATE_UPLOAD_TIMES.latestMs
      if (isSettled || isLate) await this.#upload(this.#latest)
    }
  }

  async #upload(state: string): Promise<void> {
    if (state === this.#stored || !isCompleteState(state)) return
    await this.#client.send({ method: 'PUT', path: '/state', body: Buffer.from(state) })
    this.#stored = state
    this.#storedMs = Date.now()
  }

  async #fingerprint(): Promise<string> {
    const stats = await stat(this.#path).catch(() => undefined)
    return stats === undefined ? '' : `${stats.mtimeMs}/${stats.size}/${stats.ino}`
  }

  async #read(): Promise<string> {
    return await readFile(this.#path, 'utf8').catch(() => '')
  }
}

/** Reports whether the text is a complete JSON document: the tool may still be writing the file. */
function isCompleteState(text: string): boolean {
  try {
    return text !== '' && typeof JSON.parse(text) === 'object'
  } catch {
    return false
  }
}
