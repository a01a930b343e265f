/**
 * The process that fetches one artifact: `fetcher [UID GID]`. The agent may be root, and a fetch
 * handles bytes of strangers: this process gives up the agent's rights before it reads anything,
 * and works in its staging directory only, which is its working directory.
 *
 * Input: one line, the job; the end of the input ends the fetch. Output: lines as in
 * `fetcher-process.ts`.
 */
import { rm } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { assert, errorMessage } from '@reeve/kit/fault.ts'
import { AGENT_LIMITS } from '../limits.ts'
import type { FetcherMessage } from './fetcher-process.ts'
import { isExclusiveUid } from './fetcher-user.ts'
import { stageArtifact, TREE, type FetchJob } from './stage-artifact.ts'

const [uid, gid] = process.argv.slice(2).map(Number)
const HERE = '.'
const MESSAGE_CHARS_MAX = 4_096
let taken = 0
let reported = 0

dropRights()
const { job, signal } = await readInput()
send(await outcome())
endOthers()
process.exit(0)

function dropRights(): void {
  process.umask(0o022)
  if (uid === undefined || gid === undefined) return
  process.setgroups?.([])
  process.setgid?.(gid)
  process.setuid?.(uid)
  assert(process.getuid?.() === uid && process.getgid?.() === gid, 'the rights were given up')
}

/** The end of the input means that the agent is gone, or no longer wants the artifact. */
async function readInput(): Promise<{ readonly job: FetchJob; readonly signal: AbortSignal }> {
  const stop = new AbortController()
  const { promise, resolve } = Promise.withResolvers<string>()
  const lines = createInterface({ input: process.stdin })
  lines.once('line', resolve)
  lines.once('close', () => {
    resolve('')
    stop.abort(new Error('the agent ended the fetch'))
    // Not every step listens to the signal, and the agent may be gone.
    setTimeout(() => {
      endOthers()
      process.exit(1)
    }, AGENT_LIMITS.artifactStopMsMax).unref()
  })
  const line = await promise
  if (line === '') process.exit(1)
  // The agent wrote it, and its version is ours.
  const parsed = JSON.parse(line) as FetchJob
  return { job: parsed, signal: stop.signal }
}

async function outcome(): Promise<FetcherMessage> {
  try {
    const isFile = await stageArtifact(job, { scratch: HERE, used, signal })
    send({ kind: 'used', bytes: taken })
    return { kind: 'staged', isFile }
  } catch (thrown) {
    // Many small files are removed here, where nobody waits for this process.
    await rm(TREE, { recursive: true, force: true }).catch(() => undefined)
    return { kind: 'failed', message: errorMessage(thrown).slice(0, MESSAGE_CHARS_MAX) }
  }
}

function used(bytes: number): void {
  taken = bytes
  if (Math.abs(bytes - reported) < AGENT_LIMITS.artifactReportBytes) return
  reported = bytes
  send({ kind: 'used', bytes })
}

/** Writes to a pipe are done when the call returns. */
function send(message: FetcherMessage): void {
  process.stdout.write(`${JSON.stringify(message)}\n`)
}

/**
 * Nothing that was started for the fetch outlives it. An account that only this fetch uses is
 * emptied; otherwise the process group ends, with this process in it.
 */
function endOthers(): void {
  const target = uid !== undefined && isExclusiveUid(uid) ? -1 : -process.pid
  try {
    process.kill(target, 'SIGKILL')
  } catch {
    // Nothing was left.
  }
}
