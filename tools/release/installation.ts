/** The self-contained directory that all other forms of a release are made from. */
/** The self-contained directory that all other forms of a release are made from. */
/** The self-contained directory that all other forms of a release are made from. */
/** The self-contained directory that all other forms of a release are made from. */
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
/**
 * The program of a release: one folder of modules with every package in it, so that an installation
 * has no `node_modules`.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { rolldown, type Plugin } from 'rolldown'
/** Manual pages, from the tables of the command line itself. */
import type { CommandSpec } from '../../packages/reeve/src/cli/command.ts'
import { COMMANDS, GROUPS } from '../../packages/reeve/src/cli/commands.ts'
import { LOCAL_COMMANDS } from '../../packages/reeve/src/cli/completion/completion.ts'
import { contentHash, escapeModules, hasSideEffects, shortenMaps } from '../build/bundle.ts'
import { createSourcePlugin, entryModuleId } from '../build/source-plugin.ts'
import { SOURCE } from '../build/paths.ts'
import { fileEntry, readTree, type Entry } from './archive.ts'
import { buildCompileCache, COMMAND_FLAGS, RUNTIME_FLAGS } from './cache.ts'
import { listParts, noticeText, partsDocument } from './parts.ts'
import { buildHelper, prepareRuntime } from './runtime.ts'
import { builtAtOf, cacheText, type ReleaseStamp, stampText } from './stamp.ts'
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
  return text
    .replaceAll('@FLAGS@', RUNTIME_FLAGS.join(' '))
    .replaceAll('@COMMAND_FLAGS@', COMMAND_FLAGS.join(' '))
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

// Manual pages, from the tables of the command line itself.

interface Page {
  readonly name: string
  readonly text: string
}

type Described = Pick<CommandSpec, 'path' | 'summary'> & Partial<CommandSpec>

/** `reeve.1` with all commands in short, and `reeve-job.1` and its like with all about a group. */
function manualPages(version: string, date: string): Page[] {
  const known = new Set(COMMANDS.map(({ path }) => path))
  const local = LOCAL_COMMANDS.filter(({ path }) => !known.has(path))
  const described: Described[] = [...COMMANDS, ...local]
  const all = described.filter(({ isHidden }) => isHidden !== true)
  const groups = Map.groupBy(all, ({ path }) => path.split(' ')[0] ?? path)
  const names = [...groups.keys()].toSorted()
  const head = (name: string): string =>
    `.TH ${name.toUpperCase()} 1 "${date}" "Reeve ${version}" "Reeve manual"\n`
  const pages = names.map((name) => ({
    name: `reeve-${name}.1`,
    text: `${head(`reeve-${name}`)}${groupText(name, groups.get(name) ?? [])}`,
  }))
  return [{ name: 'reeve.1', text: `${head('reeve')}${rootText(names, groups)}` }, ...pages]
}

function rootText(names: readonly string[], groups: ReadonlyMap<string, Described[]>): string {
  const lines = names.flatMap((name) => [
    `.SS ${escaped(GROUPS[name] ?? groups.get(name)?.[0]?.summary ?? name)}`,
    ...(groups.get(name) ?? []).flatMap(({ path, summary }) => [
      '.TP',
      `.B reeve ${escaped(path)}`,
      escaped(summary),
    ]),
  ])
  return `.SH NAME
reeve \\- workload scheduler and policy service in one program
.SH SYNOPSIS
.B reeve
.I COMMAND
[\\fIARGUMENTS\\fR]
.SH COMMANDS
${lines.join('\n')}
.SH ENVIRONMENT
.TP
.B REEVE_ADDR
Address of the servers, such as https://10.0.0.1:4646.
.TP
.B REEVE_TOKEN
The token that commands show.
.SH FILES
.TP
.B /etc/reeve.d
Configuration of the server and the node agent.
.SH SEE ALSO
${names.map((name) => `.BR reeve-${escaped(name)} (1)`).join(',\n')}
`
}

function groupText(name: string, commands: readonly Described[]): string {
  const summary = GROUPS[name] ?? commands[0]?.summary ?? name
  const body = commands.map((command) => commandText(command)).join('')
  return `.SH NAME
reeve-${escaped(name)} \\- ${escaped(summary)}
.SH COMMANDS
${body}.SH SEE ALSO
.BR reeve (1)
`
}

function commandText({ path, summary, details, args = [], flags = [], examples = [] }: Described) {
  const usage = [...args.map((arg) => arg.usage), ...(flags.length > 0 ? ['[FLAGS]'] : [])]
  const described = [...args, ...flags].map(
    (one) => `.TP\n.B ${escaped(one.usage)}\n${escaped(one.help)}\n`,
  )
  const shown = examples.map((one) => `.TP\n.B ${escaped(one.line)}\n${escaped(one.says)}\n`)
  return `.SS reeve ${escaped([path, ...usage].join(' '))}
${escaped(summary)}
${details === undefined ? '' : `.PP\n${escaped(details)}\n`}${described.join('')}${
    shown.length === 0 ? '' : `.PP\nExamples:\n${shown.join('')}`
  }`
}

/** As roff wants it: its own signs are text here, and a dot at the beginning is no request. */
function escaped(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll("'", '\\(aq')
    .replace(/^\./gm, '\\&.')
}

// The program of a release: one folder of modules with every package in it, so that an installation
// has no `node_modules`.

/** Writes `<folder>/<hash>/reeve.js` and what it imports; returns the hash. */
async function bundleRelease(root: string, folder: string, stamp: ReleaseStamp): Promise<string> {
  const draft = join(folder, 'draft')
  const bundle = await rolldown({
    cwd: root,
    input: { reeve: entryModuleId(SOURCE) },
    platform: 'node',
    external: (id) => id.startsWith('node:') || OPTIONAL.has(id),
    plugins: [
      createSourcePlugin(root, { stamp: stampText(stamp), cache: cacheText() }),
      nativeBinding(root, stamp.target),
    ],
    logLevel: 'warn',
    treeshake: { moduleSideEffects: hasSideEffects },
  })
  await bundle.write({
    dir: draft,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    assetFileNames: '[name]-[hash][extname]',
    sourcemap: true,
    sourcemapExcludeSources: true,
    comments: false,
  })
  await bundle.close()
  shortenMaps(draft)
  escapeModules(draft)
  const name = contentHash(draft)
  fs.renameSync(draft, join(folder, name))
  return name
}

/** Faster variants of packages, which these use where they are installed. We install none. */
const OPTIONAL = new Set(['bufferutil', 'utf-8-validate', 'pg-native', 'pg-cloudflare'])

/** classic-level looks for its prebuilt binding in a folder of packages; here it is an asset. */
function nativeBinding(root: string, { platform, arch }: ReleaseStamp['target']): Plugin {
  return {
    name: 'native-binding',
    load: {
      filter: { id: /\/classic-level\/binding\.js$/ },
      handler() {
        const file = join(root, 'node_modules/classic-level/prebuilds', `${platform}-${arch}`)
        const name = fs.readdirSync(file).find((one) => !one.includes('musl'))
        if (name === undefined) throw new Error(`${file} holds no binding for glibc`)
        const source = readFileSync(join(file, name))
        const asset = this.emitFile({ type: 'asset', name: 'classic-level.node', source })
        return {
          moduleType: 'js',
          code: `import { fileURLToPath } from 'node:url'
const module = { exports: {} }
process.dlopen(module, fileURLToPath(new URL(import.meta.ROLLUP_FILE_URL_${asset})))
const binding = module.exports
export { binding as 'module.exports' }
`,
        }
      },
    },
  }
}
