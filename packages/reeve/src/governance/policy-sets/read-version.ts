import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '../../kit/result.ts'
import type { PolicySetRow, VersionedPolicy } from '../../model/index.ts'
import { MANIFEST_FILES, readSetManifest, type SetManifest } from '../../policy/index.ts'
import type { GovernanceContext } from '../context.ts'
import { diagnosePolicy } from '../policies/diagnose-policy.ts'
import { codeText, diagnosticsText, sha256Of } from '../policies/policy-code.ts'
import { normalPath, type ArchiveFiles } from './archive.ts'

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
  const manifestPath = normalPath(`${folder}/${MANIFEST_FILES[kind]}`) ?? ''
  const bytes = files.get(manifestPath)
  if (bytes === undefined) return err(`The archive has no file ${MANIFEST_FILES[kind]}`)
  const text = codeText(bytes)
  const manifest = text.ok ? readSetManifest(kind, text.value) : text
  if (!manifest.ok) return manifest
  const { policies: listed, params } = manifest.value
  if (listed.length > v2.POLICY_SET_VERSION_POLICIES_MAX)
    return err(`A version has at most ${v2.POLICY_SET_VERSION_POLICIES_MAX} policies`)
  const policies: VersionedPolicy[] = []
  const codes = new Map<string, Uint8Array>()
  for (const { source, level, ...policy } of listed) {
    const code = readSource(files, normalPath(`${folder}/${source}`))
    if (!code.ok) return err(`policy "${policy.name}", source ${source}: ${code.error}`)
    const found = diagnosticsText(
      await diagnosePolicy(context, { ...policy, kind, code: code.value.text }),
    )
    if (found !== '') return err(`policy "${policy.name}", source ${source}: ${found}`)
    const sha256 = sha256Of(code.value.bytes)
    codes.set(sha256, code.value.bytes)
    policies.push({ ...policy, enforcementLevel: level, sha256 })
  }
  return ok({ policies, params, codes })
}

function readSource(
  files: ArchiveFiles,
  path: string | undefined,
): Result<{ readonly bytes: Uint8Array; readonly text: string }, string> {
  const bytes = path === undefined ? undefined : files.get(path)
  if (bytes === undefined) return err('the archive has no such file')
  if (bytes.length > v2.POLICY_UPLOAD_BYTES_MAX)
    return err(`the file is larger than ${v2.POLICY_UPLOAD_BYTES_MAX} bytes`)
  const text = codeText(bytes)
  return text.ok ? ok({ bytes, text: text.value }) : text
}
