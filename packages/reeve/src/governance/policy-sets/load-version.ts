import type { v2 } from '@reeve/contract'
import { assert } from '@reeve/kit/fault.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { PolicySetRow, VersionedPolicy } from '../../model/index.ts'
import {
  organizationTenant,
  type ArchivedPolicy,
  type ArchiveProblem,
  type SetManifest,
} from '../../policy/index.ts'
import type { GovernanceContext } from '../context.ts'
import { diagnosePolicy } from '../policies/diagnose-policy.ts'
import { diagnosticsText } from '../policies/policy-code.ts'

/** The policies of an archive, ready to be used. */
export interface LoadedVersion {
  readonly policies: readonly VersionedPolicy[]
  readonly params: SetManifest['params']
  /** The texts by their hashes. */
  readonly codes: ReadonlyMap<string, Uint8Array>
}

/**
 * The policies that the manifest of an archive lists; else what is wrong, for a person. The archive
 * is read and the policies are compiled on threads: here only what comes back is handled.
 */
export async function loadVersion(
  { policyAsker }: Pick<GovernanceContext, 'policyAsker'>,
  { kind, policiesPath, organizationId }: PolicySetRow,
  archive: Uint8Array,
): Promise<Result<LoadedVersion, ArchiveProblem>> {
  assert(policyAsker.readSetArchive !== undefined, 'servers read archives on a thread')
  const origin = { tenant: organizationTenant(organizationId) }
  const read = await policyAsker.readSetArchive(archive, { kind, policiesPath }, origin)
  if (!read.ok) return read
  const policies: VersionedPolicy[] = []
  const codes = new Map<string, Uint8Array>()
  for (const archived of read.value.policies) {
    const { file, level, code, ...policy } = archived
    const problems = await problemsOf(policyAsker, archived, { kind, organizationId })
    if (problems !== '')
      return err({
        kind: 'invalid',
        message: `policy "${policy.name}", source ${file}: ${problems}`,
      })
    codes.set(policy.sha256, code)
    policies.push({ ...policy, enforcementLevel: level })
  }
  return ok({ policies, params: read.value.params, codes })
}

async function problemsOf(
  policyAsker: GovernanceContext['policyAsker'],
  { name, query, code }: ArchivedPolicy,
  { kind, organizationId }: { readonly kind: v2.PolicyKind; readonly organizationId: string },
): Promise<string> {
  const policy = { name, query, kind, code: new TextDecoder().decode(code) }
  const origin = { tenant: organizationTenant(organizationId) }
  return diagnosticsText(await diagnosePolicy({ policyAsker }, policy, origin))
}
