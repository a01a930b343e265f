import type { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { MANIFEST_FILES } from './set-manifest.ts'
import { normalizePath, type ArchiveFiles } from './tar.ts'

export interface FoundManifest {
  readonly name: string
  readonly bytes: Uint8Array
}

/**
 * The file that lists the policies of a set: by its name, as HCL or as JSON. Sets that were written
 * for other systems call theirs otherwise: the only `*.hcl` of the folder is taken for it.
 */
export function findSetManifest(
  files: ArchiveFiles,
  kind: v2.PolicyKind,
  folder: string,
): Result<FoundManifest, string> {
  const wanted = MANIFEST_FILES[kind]
  const other = MANIFEST_FILES[kind === 'native' ? 'opa' : 'native']
  const names = [wanted, wanted.replace(/\.hcl$/, '.json')]
  const [only, second] = filesIn(files, folder).filter(
    (name) => name.endsWith('.hcl') && name !== other,
  )
  if (only !== undefined && second === undefined) names.push(only)
  for (const name of names) {
    const bytes = files.get(normalizePath(`${folder}/${name}`) ?? '')
    if (bytes !== undefined) return ok({ name, bytes })
  }
  return err(`The archive has no file ${wanted}`)
}

/** The names of the files that lie directly in a folder. */
function filesIn(files: ArchiveFiles, folder: string): readonly string[] {
  const path = normalizePath(folder) ?? ''
  const prefix = path === '' ? '' : `${path}/`
  return [...files.keys()]
    .filter((file) => file.startsWith(prefix))
    .map((file) => file.slice(prefix.length))
    .filter((name) => !name.includes('/'))
}
