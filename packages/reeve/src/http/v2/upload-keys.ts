import { Fault } from '@reeve/kit/fault.ts'
import {
  findTokenCaller,
  type CallerIdentity,
  type GovernanceContext,
} from '../../governance/index.ts'

/** How long a link works: long enough for a large archive over a slow connection. */
const LIFETIME_MS = 3_600_000

interface UploadKey {
  readonly tokenId: string
  /** The one path that the key is for. */
  readonly path: string
  readonly expiresMs: number
}

type Host = Pick<GovernanceContext, 'store' | 'clock' | 'sealer'>

/**
 * Keys of upload links. Clients send an archive to the link of a document without their token, so
 * the link holds a key that acts for that token on one path, for an hour at most. A token that is
 * revoked or loses its permission takes its keys along, because rights are checked at the upload.
 */
export function createUploadKey(
  { sealer, clock }: Host,
  caller: CallerIdentity,
  path: string,
): string {
  const tokenId = caller.kind === 'site' ? caller.accessorId : caller.tokenId
  const key: UploadKey = { tokenId, path, expiresMs: clock.nowMs() + LIFETIME_MS }
  return Buffer.from(sealer.seal(JSON.stringify(key)), 'base64').toString('base64url')
}

/** The caller that a key acts for; undefined when it is for another path or has expired. */
export function findKeyHolder(host: Host, text: string, path: string): CallerIdentity | undefined {
  const key = openKey(host, text)
  if (key === undefined || key.path !== path || key.expiresMs <= host.clock.nowMs())
    return undefined
  return findTokenCaller(host, key.tokenId)
}

function openKey({ sealer }: Host, text: string): UploadKey | undefined {
  try {
    const sealed = Buffer.from(text, 'base64url').toString('base64')
    // Sealing authenticates: a text that opens was written by createUploadKey.
    return JSON.parse(sealer.open(sealed)) as UploadKey
  } catch (thrown) {
    // Anybody may send any text as a key.
    if (thrown instanceof Fault || thrown instanceof SyntaxError) return undefined
    throw thrown
  }
}
