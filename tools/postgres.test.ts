import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setUpPostgres } from './setup/postgres.mjs'

interface Case {
  readonly name: string
  readonly isThere?: boolean
  readonly canInstall?: boolean
  readonly wasTried?: boolean
  /** The step that fails, by its last words. */
  readonly fails?: string
  readonly did: readonly string[]
  readonly said: readonly RegExp[]
  readonly notes?: boolean
}

const cases: readonly Case[] = [
  { name: 'nothing is done where it is there', isThere: true, did: [], said: [] },
  { name: 'nothing is done where it cannot be', canInstall: false, did: [], said: [] },
  { name: 'a failure is not asked for again', wasTried: true, did: [], said: [] },
  {
    name: 'it is installed without a cluster of its own',
    did: [
      'update',
      '--download-only postgresql',
      'postgresql-common',
      'no cluster',
      '--no-download postgresql',
      'clusters again',
    ],
    said: [/^Installing postgresql/],
  },
  {
    name: 'a package that cannot be had is one sentence, and noted',
    fails: '--download-only postgresql',
    did: ['update', '--download-only postgresql'],
    said: [/^Installing/, /^The PostgreSQL engine is not tested: .*\(no such package\)\.$/],
    notes: true,
  },
  {
    name: 'clusters are made again when the last step fails',
    fails: '--no-download postgresql',
    did: [
      'update',
      '--download-only postgresql',
      'postgresql-common',
      'no cluster',
      '--no-download postgresql',
      'clusters again',
    ],
    said: [/^Installing/, /^The PostgreSQL engine is not tested/],
    notes: true,
  },
]

for (const c of cases) {
  test(`postgres: ${c.name}`, async () => {
    const did: string[] = []
    const said: string[] = []
    let isNoted = false
    await setUpPostgres('/nowhere', {
      has: () => c.isThere ?? false,
      canInstall: () => c.canInstall ?? true,
      wasTried: () => c.wasTried ?? false,
      noteTried: () => (isNoted = true),
      apt: (args) => {
        const words = args.filter((arg) => /^(update|postgresql|--(no-)?download)/.test(arg))
        did.push(words.join(' '))
        return Promise.resolve(words.join(' ') === c.fails ? 'no such package' : undefined)
      },
      makeNoCluster: () => {
        did.push('no cluster')
        return () => did.push('clusters again')
      },
      say: (sentence) => said.push(sentence),
    })
    assert.deepEqual(did, c.did)
    assert.equal(said.length, c.said.length)
    for (const [n, pattern] of c.said.entries()) assert.match(said[n] ?? '', pattern)
    assert.equal(isNoted, c.notes ?? false)
  })
}
