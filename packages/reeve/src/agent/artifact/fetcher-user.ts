import { readFileSync } from 'node:fs'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import type { Owner } from '../store/safe-directory.ts'
import { getHostUser } from '../host-user.ts'
import type { ArtifactSource } from './source.ts'

/**
 * User IDs that no account and no container uses: systemd assigns none of this range. Every fetcher
 * has one of its own, so that it can neither signal other fetchers nor read their files, and a file
 * in its staging directory that has another owner was not written by it.
 */
const UID_FIRST = 1_900_000_000
/** Process IDs of agents: several agents of one machine must not share a user ID. */
const AGENT_PIDS = 4_194_304
/** Fetchers of one agent at the same time. */
const FETCHER_UIDS_PER_AGENT = 32
const UID_END = UID_FIRST + AGENT_PIDS * FETCHER_UIDS_PER_AGENT

/** Whether the user ID belongs to one fetcher, and to nothing else of the machine. */
export function isExclusiveUid(uid: number): boolean {
  return uid >= UID_FIRST && uid < UID_END
}

/**
 * The account that a fetcher runs as; undefined: the agent's own. An agent that is not root cannot
 * change accounts. Files of the node are read with the agent's rights, which is what the operator
 * allowed. `ssh` refuses to run for a user without an entry in `/etc/passwd`, and some containers
 * map few user IDs: both use `nobody`.
 */
export async function chooseFetcherUser(
  source: ArtifactSource,
  slot: number,
): Promise<Owner | undefined> {
  if (process.getuid?.() !== 0 || source.kind === 'file') return undefined
  const uid = UID_FIRST + (process.pid % AGENT_PIDS) * FETCHER_UIDS_PER_AGENT + slot
  if (!usesSsh(source) && isMappedUid(uid)) return { uid, gid: uid }
  const { uid: nobodyUid, gid } = await getHostUser('nobody').catch((thrown: unknown) => {
    throw new Fault('task-artifact', `it cannot be fetched as nobody: ${errorMessage(thrown)}`)
  })
  return { uid: nobodyUid, gid }
}

function usesSsh({ kind, address, options }: ArtifactSource): boolean {
  if (kind !== 'git') return false
  return options['sshkey'] !== undefined || !/^(https?|git|file):\/\//i.test(address)
}

let areFetcherUidsMapped: boolean | undefined

/** Whether the user namespace of the agent has the user IDs of fetchers. */
function isMappedUid(uid: number): boolean {
  areFetcherUidsMapped ??= ['uid_map', 'gid_map'].every((name) =>
    readFileSync(`/proc/self/${name}`, 'utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/).map(Number))
      .some(([first = 0, , count = 0]) => uid >= first && uid < first + count),
  )
  return areFetcherUidsMapped
}
