import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '../../kit/result.ts'
import type { PolicySetRow, VersionedPolicy } from '../../model/index.ts'
import { readSetManifest, type SetManifest } from '../../policy/index.ts'
import type { GovernanceContext } from '../context.ts'
import { diagnosePolicy } from '../policies/diagnose-policy.ts'
import { codeText, diagnosticsText, sha256Of } from '../policies/policy-code.ts'
import type { ArchiveFiles } from './archive.ts'
import { bundledCode, type SetFiles } from './bundled-code.ts'
import { findSetManifest } from './find-manifest.ts'

/** What an archive holds, ready to be used. */
export interface ReadVersion {
  readonly policies: readonly VersionedPolicy[]
  readonly params: SetManifest['params']
  /** The texts by their hashes. */
  readonly codes: ReadonlyMap<string, Uint8Array>
}

/** The policies that the manifest of an archive lists; else what is wrong, for a person. */
export async function readVersion(
  context: Pick<GovernanceContext, 'policyAsker'>,
  { kind, policiesPath }: Pick<PolicySetRow, 'kind' | 'policiesPath'>,
  files: ArchiveFiles,
): Promise<Result<ReadVersion, string>> {
  const folder = policiesPath ?? ''
  const found = findSetManifest(files, kind, folder)
  if (!found.ok) return found
  const text = codeText(found.value.bytes)
  const manifest = text.ok ? readSetManifest(kind, text.value, found.value.name) : text
  if (!manifest.ok) return manifest
  const { policies: listed, params } = manifest.value
  if (listed.length > v2.POLICY_SET_VERSION_POLICIES_MAX)
    return err(`A version has at most ${v2.POLICY_SET_VERSION_POLICIES_MAX} policies`)
  const set: SetFiles = { kind, folder, files, manifest: manifest.value }
  const policies: VersionedPolicy[] = []
  const codes = new Map<string, Uint8Array>()
  let bytes = 0
  for (const { source, level, ...policy } of listed) {
    const code = bundledCode(set, { name: policy.name, source })
    if (!code.ok) return err(`policy "${policy.name}", ${code.error}`)
    const problems = diagnosticsText(
      await diagnosePolicy(context, { ...policy, kind, code: code.value }),
    )
    if (problems !== '') {
      const file = source ?? `./${policy.name}${v2.POLICY_FILE_SUFFIXES[kind]}`
      return err(`policy "${policy.name}", source ${file}: ${problems}`)
    }
    const stored = new TextEncoder().encode(code.value)
    bytes += stored.length
    if (bytes > v2.POLICY_SET_ARCHIVE_UNPACKED_BYTES_MAX) return err(TOO_LARGE)
    const sha256 = sha256Of(stored)
    codes.set(sha256, stored)
    policies.push({ ...policy, enforcementLevel: level, sha256 })
  }
  return ok({ policies, params, codes })
}

/** Each policy is kept with what it imports. */
const TOO_LARGE =
  'The policies, each with what it imports, are larger than ' +
  `${v2.POLICY_SET_ARCHIVE_UNPACKED_BYTES_MAX} bytes`
