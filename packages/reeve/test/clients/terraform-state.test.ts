// tidy-allow vendor: the real command-line tool is the client of these tests
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aToolWorld, SKIPPED, type ToolDirectory, type ToolOutcome } from './infrastructure-tool.ts'

const RESOURCES = `
resource "terraform_data" "a" { input = "one" }
resource "terraform_data" "b" { input = { n = 12345678901234567 } }
output "plain" { value = terraform_data.a.output }
output "shape" { value = terraform_data.b.output }
output "secret" {
  value     = "s3cret-value"
  sensitive = true
}
`

function cloud(host: string, workspaces: string): string {
  return `terraform {
  cloud {
    hostname     = "${host}"
    organization = "acme"
    workspaces { ${workspaces} }
  }
}
`
}

/** What a command printed that had to succeed. */
async function ok(run: Promise<ToolOutcome>): Promise<string> {
  const { code, output } = await run
  assert.equal(code, 0, output)
  return output
}

test('cloud block: init, local apply, state commands, outputs and destroy', { skip: SKIPPED }, async (t) => {
  const world = await aToolWorld(t)
  const one = await world.directory('one', {
    'main.tf': cloud(world.host, 'name = "one"') + RESOURCES,
  })
  await ok(one.run('init'))
  await ok(one.run('apply', '-auto-approve'))
})
