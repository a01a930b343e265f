import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Fault } from '@reeve/kit/fault.ts'
import { sharedTokenReplacedAt, type WorkloadContext } from '../workload/index.ts'

interface WarnLog {
  warn(fields: object, message: string): void
}

/**
 * Warns if the sealing key does not open the secrets of the state, for example after a restore
 * without the key. Everything else works, so the start is not refused; without the warning, the
 * problem would appear only when a secret is needed.
 */
export function warnAboutUnreadableSecrets(
  { store, sealer }: Pick<WorkloadContext, 'store' | 'sealer'>,
  log: WarnLog,
): void {
  const { acl_tokens: tokens, variables } = store.tables
  const kinds = {
    'SecretIDs of tokens': takeSample(tokens.rows(), (row) => row.SealedSecret),
    variables: takeSample(variables.rows(), (row) => row.SealedItems),
  }
  const lost = Object.entries(kinds).flatMap(([kind, sealed]) =>
    opensAll(sealer, sealed) ? [] : [kind],
  )
  if (lost.length === 0) return
  log.warn(
    { unreadable: lost },
    'secrets of this state were sealed with another key and cannot be read: stop the server, give ' +
      'it the server/sealing-key or server.cluster_key of the servers that wrote them, or that key ' +
      'in server.previous_cluster_keys, and start it again',
  )
}

/**
 * A sample is enough, because one key sealed all of them, and the start must not slow down with
 * their number.
 */
const SAMPLED_ROWS_MAX = 100

function* takeSample<Row>(
  rows: Iterable<Row>,
  sealedValue: (row: Row) => string,
): Generator<string> {
  let seen = 0
  for (const row of rows) {
    if (++seen > SAMPLED_ROWS_MAX) return
    yield sealedValue(row)
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

/**
 * Warns if a server has run in this directory before but its state is missing, so that it starts
 * empty.
 */
export function warnAboutMissingStorage(directory: string, log: WarnLog): void {
  const storage = join(directory, 'storage')
  const key = join(directory, 'sealing-key')
  if (existsSync(storage) || !existsSync(key)) return
  log.warn(
    { storage },
    'a server has run in this directory and its storage is missing: it starts empty. If this is not ' +
      'intended, stop it and restore the storage, or "reeve operator snapshot restore" a snapshot',
  )
}

/**
 * Warns if the configured join token was rotated: the file and the setting still contain the
 * invalid token.
 */
export function warnAboutRotatedJoinToken(context: WorkloadContext, log: WarnLog): void {
  const rotatedAt = sharedTokenReplacedAt(context)
  if (rotatedAt === undefined) return
  log.warn(
    { rotatedAt },
    'the shared join token was rotated: the one in join_token or server/join-token admits no new ' +
      'nodes. Create a token for each node with "reeve node join-token create"',
  )
}
