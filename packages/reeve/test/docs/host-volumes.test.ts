import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { aCommandLine, type CommandLineBench } from '../build/cli.ts'
import { runPage } from '../build/page-script.ts'
import { programOnPath } from '../build/program-on-path.ts'

const PAGE = join(import.meta.dirname, '../../../../docs/how-to/host-volumes.md')

test('docs/how-to/host-volumes.md: every command works', { timeout: 600_000 }, async (t) => {
  const reeve = await aCommandLine(t)
  if (!(await hasExec(reeve))) return t.skip('the driver exec is not healthy here')
  const path = `${await programOnPath(reeve.directory)}:${process.env['PATH'] ?? ''}`
  const env = { PATH: path, HOME: reeve.directory, REEVE_ADDR: reeve.address }
  await runPage(await readFile(PAGE, 'utf8'), { cwd: join(reeve.directory, 'page'), env })
})

/** Tasks of drivers without isolation cannot mount volumes. */
async function hasExec({ client }: CommandLineBench): Promise<boolean> {
  const [node] = (await client.v1.listNodes()).data
  assert.ok(node !== undefined, 'the development agent is a node')
  return node.Drivers?.['exec']?.Healthy === true
}
