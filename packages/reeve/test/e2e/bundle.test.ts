import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createClient } from '@reeve/sdk'
import { commandLineAt } from '../build/cli.ts'
import { aJobText } from '../build/job-text.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { until } from '../build/until.ts'
import { startAgent } from './program-process.ts'

const REPOSITORY = join(import.meta.dirname, '../../../..')

/** A build of the sources as they are now. */
function bundled(): string {
  const args = [join(REPOSITORY, 'tools/build.ts'), '--program']
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  return join(REPOSITORY, stdout.trim())
}

test('the bundled program finds its threads, its package and its web pages', async (t) => {
  const entry = bundled()
  const directory = await temporaryDirectory(t)
  const flags = ['--dev', '--http-port', '0', '--data-dir', join(directory, 'data')]
  const environment = { XDG_CONFIG_HOME: join(directory, '.config') }
  const agent = startAgent(t, flags, { entry, environment })
  const address = await until('its address', () => {
    return /API\s+(http:\/\/\S+)/.exec(agent.output())?.[1]
  })
  const client = createClient({ address })
  const reeve = commandLineAt({ address, client, directory })

  await t.test('the version is that of the package', () => {
    const { stdout } = spawnSync(process.execPath, [entry, 'version'], { encoding: 'utf8' })
    assert.match(stdout, /^reeve \d+\.\d+\.\d+ \(checkout, node /)
  })
  await t.test('job files are read on their thread', async () => {
    const { data } = await client.v1.parseJob({ body: { JobHCL: aJobText({ id: 'web' }) } })
    assert.equal(data.ID, 'web')
  })
  await t.test('policies are asked on theirs', async () => {
    await reeve.file('none.native', 'main = rule { false }')
    await reeve.file('web.hcl', aJobText({ id: 'web' }))
    await reeve.ok('org create acme --email ops@acme.example')
    await reeve.ok('policy-set create guards --jobs-of default')
    await reeve.ok('policy create none.native --level hard-mandatory --set guards')
    const { err } = await reeve.run('job run web.hcl')
    assert.match(err, /policy "none" \(hard-mandatory\) of set "guards" failed/)
  })
  await t.test('the web UI is where it was built', async () => {
    const isBuilt = existsSync(join(REPOSITORY, 'packages/web/dist/index.html'))
    assert.equal((await fetch(`${address}/ui/`)).status, isBuilt ? 200 : 503)
  })
})
