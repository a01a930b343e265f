import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SYSTEM } from '../state/index.ts'
import { bootstrapAcl, type WorkloadContext } from '../workload/index.ts'
import { writeSecret } from './secrets.ts'

export const GOVERNANCE_TOKEN_FILE = 'governance-token'

/**
 * Returns the bearer token for `/api/v2` that `--dev` prints: the management token of a bootstrap
 * at the first start, stored in the server's directory.
 */
export async function ensureDevToken(
  context: WorkloadContext,
  directory: string,
): Promise<string | undefined> {
  // With ACLs, the operator runs the bootstrap and receives the token.
  if (context.aclEnabled) return undefined
  const path = join(directory, GOVERNANCE_TOKEN_FILE)
  const known = await readFile(path, 'utf8').catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ENOENT') return undefined
    throw thrown
  })
  if (known !== undefined) return known.trim()
  const secret = context.ids.uuid()
  const token = await bootstrapAcl(context, SYSTEM, { BootstrapSecret: secret })
  if (!token.ok) return undefined // bootstrapped earlier, with ACLs on: that token still serves
  await writeSecret(path, `${secret}\n`)
  return secret
}
