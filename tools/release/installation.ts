/** The self-contained directory that all other forms of a release are made from. */
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { fileEntry, readTree, type Entry } from './archive.ts'
import { buildCompileCache, RUNTIME_FLAGS } from './cache.ts'
import { manualPages } from './manual.ts'
import { listParts, noticeText, partsDocument } from './parts.ts'
import { bundleRelease } from './program.ts'
import { buildHelper, prepareRuntime } from './runtime.ts'
import { builtAtOf, type ReleaseStamp } from './stamp.ts'
import { buildWeb } from '../build/web.ts'

export interface Built {
  readonly stamp: ReleaseStamp
  readonly entries: readonly Entry[]
  readonly notice: string
  /** CycloneDX. */
  readonly parts: string
}

type Facts = Omit<ReleaseStamp, 'helper'>

/** Builds into `folder`, which is empty, and returns what is in it. */
export async function buildInstallation(
  root: string,
  folder: string,
  facts: Facts,
): Promise<Built> {
  const helper = buildHelper(root, join(folder, 'libexec'))
  const stamp = { ...facts, helper }
  prepareRuntime(root, join(folder, 'lib'))
  const program = join(folder, 'program')
  const name = await bundleRelease(root, program, stamp)
  fs.writeFileSync(join(program, 'reeve.js'), `import './${name}/reeve.js'\n`)
  fs.writeFileSync(join(folder, 'package.json'), '{"type":"module"}\n')
  await buildCompileCache({ folder: program, name, node: join(root, 'node_modules/node/bin/node') })
  if (!(await buildWeb(root))) throw new Error('The web UI could not be built.')
  const parts = listParts(root, ['packages/reeve', 'packages/web'])
  const notice = noticeText(parts, stamp)
  const document = partsDocument(parts, stamp)
  const { version, commit } = stamp
  const stamped = { version, commit, builtAt: builtAtOf(stamp) }
  const entries = [
    ...readTree(folder),
    ...readTree(join(root, 'packages/web/dist'), 'web'),
    fileEntry('bin/reeve', starter(root), 0o755),
    fileEntry('LICENSE', fs.readFileSync(join(root, 'LICENSE'))),
    fileEntry('NOTICE', notice),
    fileEntry('sbom.cdx.json', document),
    fileEntry('version.json', `${JSON.stringify(stamped)}\n`),
    ...documentation(root),
    ...sharedFiles(root, program, stamp),
  ]
  return { stamp, entries, notice, parts: document }
}

/** The shell script that starts the program, with the flags of its compiled code. */
function starter(root: string): string {
  const text = fs.readFileSync(join(root, 'packaging/reeve.sh'), 'utf8')
  return text.replaceAll('@FLAGS@', RUNTIME_FLAGS.join(' '))
}

/** For users; not what contributors read, and no pictures. */
function documentation(root: string): Entry[] {
  return readTree(join(root, 'docs'), 'docs').filter(
    ({ path, kind }) =>
      kind === 'file' && !path.startsWith('docs/contributing/') && path.endsWith('.md'),
  )
}

const COMPLETIONS = {
  bash: 'share/bash-completion/completions/reeve',
  zsh: 'share/zsh/site-functions/_reeve',
  fish: 'share/fish/vendor_completions.d/reeve.fish',
} as const

function sharedFiles(root: string, program: string, stamp: ReleaseStamp): Entry[] {
  const node = join(root, 'node_modules/node/bin/node')
  const complete = (shell: string): string =>
    execFileSync(node, [join(program, 'reeve.js'), 'completion', shell], {
      encoding: 'utf8',
      env: { HOME: '/nonexistent' },
    })
  const date = builtAtOf(stamp).slice(0, 10)
  return [
    ...readTree(join(root, 'packaging/systemd'), 'share/systemd'),
    ...readTree(join(root, 'packaging/examples'), 'share/examples'),
    ...readTree(join(root, 'packaging/monitoring'), 'share/monitoring'),
    ...Object.entries(COMPLETIONS).map(([shell, path]) => fileEntry(path, complete(shell))),
    ...manualPages(stamp.version, date).map(({ name, text }) =>
      fileEntry(`share/man/man1/${name}`, text),
    ),
  ]
}
