import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Fault } from '@reeve/kit/fault.ts'
import { sharedTokenReplacedAt, type WorkloadContext } from '../workload/index.ts'

interface WarnLog {
  warn(fields: object, message: string): void
}

/**
 * Tells of a state whose secrets this key does not open, such as one that was restored without its
 * key. All else works, so it is no reason to refuse; without a word, somebody would find out when a
 * secret is wanted.
 */
export function warnOfOtherKey(
  { store, sealer }: Pick<WorkloadContext, 'store' | 'sealer'>,
  log: WarnLog,
): void {
  const { acl_tokens: tokens, variables } = store.tables
  const kinds = {
    'SecretIDs of tokens': sample(tokens.rows(), (row) => row.SealedSecret),
    variables: sample(variables.rows(), (row) => row.SealedItems),
  }
  const lost = Object.entries(kinds).flatMap(([kind, sealed]) =>
    opensAll(sealer, sealed) ? [] : [kind],
  )
  if (lost.length === 0) return
  log.warn(
    { unreadable: lost },
    'secrets of this state were sealed with another key and cannot be read: stop the server, give ' +
      'it the server/sealing-key or server.cluster_key of the servers that wrote them, and start ' +
      'it again (a database keeps to its first key: move the state into an empty one before)',
  )
}

/** Some: a start must not take longer with each secret, and an old key opened all old ones. */
const SAMPLED_ROWS_MAX = 100

function* sample<Row>(rows: Iterable<Row>, sealedIn: (row: Row) => string): Generator<string> {
  let seen = 0
  for (const row of rows) {
    if (++seen > SAMPLED_ROWS_MAX) return
    yield sealedIn(row)
  }
}

function opensAll(sealer: WorkloadContext['sealer'], sealed: Iterable<string>): boolean {
  try {
    for (const one of sealed) sealer.open(one)
    return true
  } catch (thrown) {
    if (thrown instanceof Fault) return false
    throw thrown
  }
}

/** Tells of a server that ran here before and whose state is gone: it begins with an empty one. */
export function warnOfLostStorage(directory: string, log: WarnLog): void {
  const storage = join(directory, 'storage')
  const key = join(directory, 'sealing-key')
  if (existsSync(storage) || !existsSync(key)) return
  log.warn(
    { storage },
    'a server has run in this directory and its storage is gone: it begins empty. If that is not ' +
      'meant, stop it and restore the storage, or "reeve operator snapshot restore" a snapshot',
  )
}

/** The file and the setting go on to name a token that admits nobody: somebody may look there. */
export function warnOfReplacedJoinToken(context: WorkloadContext, log: WarnLog): void {
  const rotatedAt = sharedTokenReplacedAt(context)
  if (rotatedAt === undefined) return
  log.warn(
    { rotatedAt },
    'the shared join token was rotated: the one in join_token or server/join-token admits no new ' +
      'nodes. Create a token for each node with "reeve node join-token create"',
  )
}
