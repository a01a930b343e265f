import type { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { MANIFEST_FILES } from './set-manifest.ts'
import { normalizePath, type ArchiveFiles } from './tar.ts'

export interface FoundManifest {
  readonly name: string
  readonly bytes: Uint8Array
}

/**
 * Returns the manifest of a set: the file with the default name, as HCL or JSON, or else the only
 * `*.hcl` file of the folder, because sets that were written for other systems use other names.
 */
export function findSetManifest(
  files: ArchiveFiles,
  kind: v2.PolicyKind,
  folder: string,
): Result<FoundManifest, string> {
  const expectedName = MANIFEST_FILES[kind]
  const otherKindName = MANIFEST_FILES[kind === 'native' ? 'opa' : 'native']
  const names = [expectedName, expectedName.replace(/\.hcl$/, '.json')]
  const [only, second] = fileNamesIn(files, folder).filter(
    (name) => name.endsWith('.hcl') && name !== otherKindName,
  )
  if (only !== undefined && second === undefined) names.push(only)
  for (const name of names) {
    const bytes = files.get(normalizePath(`${folder}/${name}`) ?? '')
    if (bytes !== undefined) return ok({ name, bytes })
  }
  return err(`The archive has no file ${expectedName}`)
}

/** Returns the names of the files directly in a folder. */
function fileNamesIn(files: ArchiveFiles, folder: string): readonly string[] {
  const path = normalizePath(folder) ?? ''
  const prefix = path === '' ? '' : `${path}/`
  return [...files.keys()]
    .filter((file) => file.startsWith(prefix))
    .map((file) => file.slice(prefix.length))
    .filter((name) => !name.includes('/'))
}
