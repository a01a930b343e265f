import assert from 'node:assert/strict'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { findPlugin } from './plugin.ts'

async function directoryWith(names: Readonly<Record<string, number>>): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'reeve-plugins-'))
  for (const [name, mode] of Object.entries(names)) {
    await writeFile(join(directory, name), '#!/bin/sh\n')
    await chmod(join(directory, name), mode)
  }
  return directory
}

const cases = [
  { args: ['cost'], name: 'reeve-cost', rest: [] },
  { args: ['cost', 'report'], name: 'reeve-cost-report', rest: [] },
  { args: ['cost', 'report', '--json'], name: 'reeve-cost-report', rest: ['--json'] },
  { args: ['cost', 'other', 'x'], name: 'reeve-cost', rest: ['other', 'x'] },
  { args: ['cost', '--all'], name: 'reeve-cost', rest: ['--all'] },
  { args: ['readable'], name: undefined, rest: [] },
  { args: ['folder'], name: undefined, rest: [] },
  { args: ['../cost'], name: undefined, rest: [] },
  { args: [], name: undefined, rest: [] },
]
for (const { args, name, rest } of cases)
  test(`findPlugin: "reeve ${args.join(' ')}" runs ${name ?? 'no plug-in'}`, async (t) => {
    const directory = await directoryWith({
      'reeve-cost': 0o755,
      'reeve-cost-report': 0o755,
      'reeve-readable': 0o644,
    })
    t.after(() => rm(directory, { recursive: true }))
    await mkdir(join(directory, 'reeve-folder'))
    const found = await findPlugin(args, { PATH: `/does-not-exist:${directory}` })
    const file = name === undefined ? undefined : join(directory, name)
    assert.deepEqual(found, file === undefined ? undefined : { file, args: rest })
  })
