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
import { stageArtifact, TREE_DIR, type FetchJob } from './stage-artifact.ts'

const [uid, gid] = process.argv.slice(2).map(Number)
const STAGING_DIR = '.'
const MESSAGE_CHARS_MAX = 4_096
let usedBytes = 0
let reportedBytes = 0

dropPrivileges()
const { job, signal } = await readInput()
send(await runJob())
killRemainingProcesses()
process.exit(0)

function dropPrivileges(): void {
  process.umask(0o022)
  if (uid === undefined || gid === undefined) return
  process.setgroups?.([])
  process.setgid?.(gid)
  process.setuid?.(uid)
  assert(process.getuid?.() === uid && process.getgid?.() === gid, 'the rights were given up')
}

/** The end of the input means that the agent has stopped or has cancelled the fetch. */
async function readInput(): Promise<{ readonly job: FetchJob; readonly signal: AbortSignal }> {
  const stop = new AbortController()
  const { promise, resolve } = Promise.withResolvers<string>()
  const lines = createInterface({ input: process.stdin })
  lines.once('line', resolve)
  lines.once('close', () => {
    resolve('')
    stop.abort(new Error('the agent ended the fetch'))
    // Not every step observes the signal, and the agent may be gone.
    setTimeout(() => {
      killRemainingProcesses()
      process.exit(1)
    }, AGENT_LIMITS.fetcherStopTimeoutMs).unref()
  })
  const line = await promise
  if (line === '') process.exit(1)
  // Written by an agent of the same version.
  const parsed = JSON.parse(line) as FetchJob
  return { job: parsed, signal: stop.signal }
}

async function runJob(): Promise<FetcherMessage> {
  try {
    const isFile = await stageArtifact(job, { stagingDir: STAGING_DIR, onDiskUsage, signal })
    send({ kind: 'used', bytes: usedBytes })
    return { kind: 'staged', isFile }
  } catch (thrown) {
    // Many small files are removed in this process, which nobody waits for.
    await rm(TREE_DIR, { recursive: true, force: true }).catch(() => undefined)
    return { kind: 'failed', message: errorMessage(thrown).slice(0, MESSAGE_CHARS_MAX) }
  }
}

function onDiskUsage(bytes: number): void {
  usedBytes = bytes
  if (Math.abs(bytes - reportedBytes) < AGENT_LIMITS.fetcherReportBytes) return
  reportedBytes = bytes
  send({ kind: 'used', bytes })
}

/** Writes to a pipe are synchronous. */
function send(message: FetcherMessage): void {
  process.stdout.write(`${JSON.stringify(message)}\n`)
}

/**
 * Kills everything that the fetch started: all processes of an exclusive user, otherwise the
 * process group including this process.
 */
function killRemainingProcesses(): void {
  const target = uid !== undefined && isExclusiveUid(uid) ? -1 : -process.pid
  try {
    process.kill(target, 'SIGKILL')
  } catch {
    // No process was left.
  }
}
