import type { v2 } from '@reeve/contract'
import { assert } from '@reeve/kit/fault.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { PolicySetRow, VersionedPolicy } from '../../model/index.ts'
import {
  organizationTenant,
  type ArchivedPolicy,
  type ArchiveProblem,
  type PolicySetManifest,
} from '../../policy/index.ts'
import type { GovernanceContext } from '../context.ts'
import { diagnosePolicy } from '../policies/diagnose-policy.ts'
import { formatPolicyErrors } from '../policies/policy-code.ts'

/** The policies of an archive, ready to be stored. */
export interface LoadedVersion {
  readonly policies: readonly VersionedPolicy[]
  readonly params: PolicySetManifest['params']
  /** Code by hash. */
  readonly codes: ReadonlyMap<string, Uint8Array>
}

/**
 * Reads the policies that the manifest of an archive lists, or returns an error for users. The
 * archive is read and the policies are compiled on worker threads.
 */
export async function loadVersion(
  { policyEngine }: Pick<GovernanceContext, 'policyEngine'>,
  { kind, policiesPath, organizationId }: PolicySetRow,
  archive: Uint8Array,
): Promise<Result<LoadedVersion, ArchiveProblem>> {
  assert(policyEngine.readSetArchive !== undefined, 'servers read archives on a thread')
  const origin = { tenant: organizationTenant(organizationId) }
  const loaded = await policyEngine.readSetArchive(archive, { kind, policiesPath }, origin)
  if (!loaded.ok) return loaded
  const policies: VersionedPolicy[] = []
  const codes = new Map<string, Uint8Array>()
  for (const archived of loaded.value.policies) {
    const { file, level, code, ...policy } = archived
    const problems = await compileErrors(policyEngine, archived, { kind, organizationId })
    if (problems !== '')
      return err({
        kind: 'invalid',
        message: `policy "${policy.name}", source ${file}: ${problems}`,
      })
    codes.set(policy.sha256, code)
    policies.push({ ...policy, enforcementLevel: level })
  }
  return ok({ policies, params: loaded.value.params, codes })
}

async function compileErrors(
  policyEngine: GovernanceContext['policyEngine'],
  { name, query, code }: ArchivedPolicy,
  { kind, organizationId }: { readonly kind: v2.PolicyKind; readonly organizationId: string },
): Promise<string> {
  const policy = { name, query, kind, code: new TextDecoder().decode(code) }
  const origin = { tenant: organizationTenant(organizationId) }
  return formatPolicyErrors(await diagnosePolicy({ policyEngine }, policy, origin))
}
