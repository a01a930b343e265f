import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  paddedToBlocks,
  readPaxRecords,
  readTarHeader,
  TAR_BLOCK_BYTES,
  decodeTarText,
} from '@reeve/kit/tar-header.ts'
import {
  readSetManifest,
  type PolicySetManifest,
  type ManifestEntry,
  MANIFEST_FILES,
} from './manifest.ts'

/** The policy set that an archive is uploaded for. */
export interface ArchiveTarget {
  readonly kind: v2.PolicyKind
  /** The folder of the manifest in the archive; null for its root. */
  readonly policiesPath: string | null
}

/** A policy of an archive; its code includes its imports. */
export interface ArchivedPolicy extends Omit<ManifestEntry, 'source'> {
  /** The file of the policy, for messages. */
  readonly file: string
  readonly sha256: string
  readonly code: Uint8Array
}

export interface SetArchive {
  readonly policies: readonly ArchivedPolicy[]
  readonly params: PolicySetManifest['params']
}

/** An archive that cannot be unpacked, or has invalid contents. The message is for users. */
export interface ArchiveProblem {
  readonly kind: 'unreadable' | 'invalid'
  readonly message: string
}

/**
 * Reads the policies that the manifest of an archive lists. A hostile archive may take seconds, so
 * this runs on a worker; each limit is checked before the work that it limits.
 */
export function readSetArchive(
  archive: Uint8Array,
  set: ArchiveTarget,
  host: ArchiveHost,
): Result<SetArchive, ArchiveProblem> {
  const tar = host.unzip(archive, v2.POLICY_SET_ARCHIVE_UNPACKED_BYTES_MAX)
  const files = tar.ok ? readTar(tar.value) : tar
  if (!files.ok) return err({ kind: 'unreadable', message: files.error })
  const read = readPolicies({ ...set, files: files.value, host })
  return read.ok ? read : err({ kind: 'invalid', message: read.error })
}

type ArchiveContents = ArchiveTarget & Pick<SetFiles, 'files' | 'host'>

function readPolicies({
  kind,
  policiesPath,
  files,
  host,
}: ArchiveContents): Result<SetArchive, string> {
  const folder = policiesPath ?? ''
  const found = findSetManifest(files, kind, folder)
  if (!found.ok) return found
  const { name, bytes } = found.value
  if (bytes.length > v2.POLICY_SET_MANIFEST_BYTES_MAX) return err(MANIFEST_TOO_LARGE)
  const text = decodeCode(bytes, host.decode)
  const manifest = text.ok ? readSetManifest(kind, text.value, name) : text
  if (!manifest.ok) return manifest
  const set: SetFiles = { kind, folder, files, host, manifest: manifest.value }
  const policies: ArchivedPolicy[] = []
  let size = 0
  for (const { source, ...policy } of manifest.value.policies) {
    const code = bundlePolicyCode(set, { name: policy.name, source })
    if (!code.ok) return err(`policy "${policy.name}", ${code.error}`)
    const encoded = host.encode(code.value)
    size += encoded.length
    if (size > v2.POLICY_SET_ARCHIVE_UNPACKED_BYTES_MAX) return err(POLICIES_TOO_LARGE)
    const file = source ?? `./${policy.name}${v2.POLICY_FILE_SUFFIXES[kind]}`
    policies.push({ ...policy, file, sha256: host.sha256(encoded), code: encoded })
  }
  return ok({ policies, params: manifest.value.params })
}

const MANIFEST_TOO_LARGE =
  `The manifest is larger than ${v2.POLICY_SET_MANIFEST_BYTES_MAX} bytes; ` +
  'split the policies into several sets'

/** Each policy is stored with its imports. */
const POLICIES_TOO_LARGE =
  'The policies, each with what it imports, are larger than ' +
  `${v2.POLICY_SET_ARCHIVE_UNPACKED_BYTES_MAX} bytes`

/** Functions of the host for bytes: compression, text encoding and hashes. */
export interface ArchiveHost {
  /** Decompresses gzip data of at most `bytesMax` bytes, or returns why it cannot. */
  readonly unzip: (bytes: Uint8Array, bytesMax: number) => Result<Uint8Array, string>
  /** Throws a TypeError if the bytes are not valid UTF-8. */
  readonly decode: (bytes: Uint8Array) => string
  readonly encode: (text: string) => Uint8Array
  readonly sha256: (bytes: Uint8Array) => string
}

/** The files of a set and its manifest. */
interface SetFiles {
  readonly kind: v2.PolicyKind
  readonly folder: string
  readonly files: ArchiveFiles
  readonly host: ArchiveHost
  readonly manifest: Pick<PolicySetManifest, 'modules' | 'statics'>
}

interface ListedPolicy {
  readonly name: string
  readonly source: string | undefined
}

/** Returns the code of a policy, bundled with its imports if it has any. */
function bundlePolicyCode(set: SetFiles, policy: ListedPolicy): Result<string, string> {
  return set.kind === 'native' ? nativeCode(set, policy) : regoCode(set, policy)
}

function nativeCode(set: SetFiles, { name, source }: ListedPolicy): Result<string, string> {
  const code = readSource(set, source ?? `./${name}${v2.POLICY_FILE_SUFFIXES.native}`)
  if (!code.ok) return code
  const modules = new Map<string, string>()
  const statics = new Map<string, string>()
  // Texts whose imports have not been resolved yet.
  const pending = [code.value]
  for (let text = pending.pop(); text !== undefined; text = pending.pop()) {
    for (const [module, path] of referencedSources(text, set.manifest.modules)) {
      if (modules.has(module)) continue
      const read = readSource(set, path)
      if (!read.ok) return err(`module "${module}", ${read.error}`)
      modules.set(module, read.value)
      pending.push(read.value)
    }
    for (const [data, path] of referencedSources(text, set.manifest.statics)) {
      const read = readJsonSource(set, path)
      if (!read.ok) return err(`static data "${data}", ${read.error}`)
      statics.set(data, read.value)
    }
  }
  if (modules.size + statics.size === 0) return code
  return checkBundleSize({
    code: code.value,
    modules: [...modules],
    statics: [...statics],
    libraries: [],
  })
}

/**
 * Returns the sources whose names the text contains in quotes. The match may include sources that
 * are not imported, which is harmless.
 */
function referencedSources(
  text: string,
  named: ReadonlyMap<string, string>,
): readonly (readonly [string, string])[] {
  return [...named].filter(([name]) => text.includes(`"${name}"`) || text.includes(`"${name}/`))
}

/** All files of an `opa` set are compiled together. */
function regoCode(set: SetFiles, { name, source }: ListedPolicy): Result<string, string> {
  const libraries = new Map<string, string>()
  for (const path of regoFiles(set)) {
    const read = readFile(set, path)
    if (!read.ok) return err(`file ${path}: ${read.error}`)
    libraries.set(path, read.value)
  }
  const file = source ?? `./${name}${v2.POLICY_FILE_SUFFIXES.opa}`
  const ownPath = normalizePath(`${set.folder}/${file}`) ?? ''
  // Without a `source`, the queried rules may be in any file of the set.
  const isElsewhere = source === undefined && !set.files.has(ownPath) && libraries.size > 0
  const code = isElsewhere ? ok('') : readSource(set, file)
  if (!code.ok) return code
  libraries.delete(ownPath)
  if (libraries.size === 0) return code
  return checkBundleSize({ code: code.value, modules: [], statics: [], libraries: [...libraries] })
}

function regoFiles({ files, folder }: SetFiles): readonly string[] {
  const path = normalizePath(folder) ?? ''
  const prefix = path === '' ? '' : `${path}/`
  return [...files.keys()]
    .filter((file) => file.startsWith(prefix) && file.endsWith('.rego'))
    .filter((file) => !file.endsWith('_test.rego'))
    .toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))
}

function readSource(set: SetFiles, source: string): Result<string, string> {
  const path = normalizePath(`${set.folder}/${source}`)
  const read = readFile(set, path ?? '')
  return read.ok ? read : err(`source ${source}: ${read.error}`)
}

function readJsonSource(set: SetFiles, source: string): Result<string, string> {
  const read = readSource(set, source)
  if (!read.ok) return read
  try {
    JSON.parse(read.value)
    return read
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError)) throw thrown
    return err(`source ${source}: it is no JSON: ${thrown.message}`)
  }
}

function readFile({ files, host }: SetFiles, path: string): Result<string, string> {
  const bytes = files.get(path)
  if (bytes === undefined) return err('the archive has no such file')
  if (bytes.length > v2.POLICY_UPLOAD_BYTES_MAX)
    return err(`the file is larger than ${v2.POLICY_UPLOAD_BYTES_MAX} bytes`)
  return decodeCode(bytes, host.decode)
}

function checkBundleSize(bundled: PolicyBundle): Result<string, string> {
  const bundle = writeBundle(bundled)
  if (bundle.length <= v2.POLICY_UPLOAD_BYTES_MAX) return ok(bundle)
  return err(`with what it imports it is larger than ${v2.POLICY_UPLOAD_BYTES_MAX} bytes`)
}

/** Decodes the code of a policy, or returns why it is not text. */
function decodeCode(
  bytes: Uint8Array,
  decode: (bytes: Uint8Array) => string,
): Result<string, string> {
  if (bytes.includes(0)) return err('Policy code must not hold NUL bytes')
  try {
    return ok(decode(bytes))
  } catch (thrown) {
    if (thrown instanceof TypeError) return err('Policy code must be UTF-8 text')
    throw thrown
  }
}

/** A file of a policy set: the name that policies import it by, or its path, with its text. */
type NamedSource = readonly [name: string, text: string]

/** A policy with the files of its set that it uses. */
interface PolicyBundle {
  readonly code: string
  /** Policy texts that a native policy may import. */
  readonly modules: readonly NamedSource[]
  /** JSON data that a native policy may import. */
  readonly statics: readonly NamedSource[]
  /** The other files of an `opa` set by path; all of them are compiled together. */
  readonly libraries: readonly NamedSource[]
}

/**
 * Prefix of a bundle. Uploaded code contains no NUL, so text with this prefix is a bundle. A bundle
 * is stored, hashed, pinned and sent to the worker like the code of any other policy.
 */
const BUNDLE_PREFIX = '\0bundle\n'

export function writeBundle(bundle: PolicyBundle): string {
  return `${BUNDLE_PREFIX}${JSON.stringify(bundle)}`
}

export function readBundle(code: string): PolicyBundle {
  if (!code.startsWith(BUNDLE_PREFIX)) return { code, modules: [], statics: [], libraries: [] }
  // Only `writeBundle` writes the prefix.
  return JSON.parse(code.slice(BUNDLE_PREFIX.length)) as PolicyBundle
}

interface FoundManifest {
  readonly name: string
  readonly bytes: Uint8Array
}

/**
 * Returns the manifest of a set: the file with the default name, as HCL or JSON, or else the only
 * `*.hcl` file of the folder, because sets that were written for other systems use other names.
 */
function findSetManifest(
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

/** Regular files by path, without a leading `./`. */
type ArchiveFiles = ReadonlyMap<string, Uint8Array>

/** Maximum number of entries of any kind; empty entries cost time too. */
const ENTRIES_MAX = 10_000

/**
 * Reads the regular files of a tar archive, or returns why it is invalid. Links and devices are
 * omitted.
 */
function readTar(tar: Uint8Array): Result<ArchiveFiles, string> {
  const files = new Map<string, Uint8Array>()
  let longName: string | undefined
  let offset = 0
  for (let entries = 0; offset + TAR_BLOCK_BYTES <= tar.length; entries++) {
    const block = tar.subarray(offset, offset + TAR_BLOCK_BYTES)
    if (block.every((byte) => byte === 0)) return ok(files)
    if (entries >= ENTRIES_MAX) return err(`The archive has more than ${ENTRIES_MAX} entries`)
    const header = readTarHeader(block)
    if (!header.ok) return NOT_TAR
    const { type, size } = header.value
    const start = offset + TAR_BLOCK_BYTES
    if (start + size > tar.length) return err('The archive ends in the middle')
    const body = tar.subarray(start, start + size)
    offset = start + paddedToBlocks(size)
    if (type === 'L') longName = decodeTarText(body)
    else if (type === 'x') {
      const records = readPaxRecords(body)
      if (!records.ok) return NOT_TAR
      longName = records.value.get('path') ?? longName
    } else {
      const path = normalizePath(longName ?? header.value.path)
      if (FILE_TYPES.has(type) && path !== undefined) files.set(path, body)
      // A global header does not consume the long name of the next entry.
      if (type !== 'g') longName = undefined
    }
  }
  return files.size === 0 ? NOT_TAR : ok(files)
}

const NOT_TAR = err('The archive is not a tar archive')

/** Types of regular files in the old and the new tar format. */
const FILE_TYPES: ReadonlySet<string> = new Set(['0', '\0'])

/**
 * Normalizes a path; undefined if it leaves its root. The path is only a key here and is never
 * opened.
 */
function normalizePath(path: string): string | undefined {
  const parts: string[] = []
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue
    if (part !== '..') parts.push(part)
    else if (parts.pop() === undefined) return undefined
  }
  return parts.length === 0 ? undefined : parts.join('/')
}
