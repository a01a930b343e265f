import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { v2 } from '@reeve/contract'
import { aToolWorld, SKIPPED, type ToolOutcome, type ToolWorld } from './infrastructure-tool.ts'

const RESOURCES = `
resource "terraform_data" "a" { input = "one" }
resource "terraform_data" "b" { input = { n = 1234567 } }
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
    workspaces {
      ${workspaces}
    }
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

function flatTag(name: string) {
  return { type: 'tags', attributes: { name } }
}

/** What a command printed that had to fail. */
async function failed(run: Promise<ToolOutcome>): Promise<string> {
  const { code, output } = await run
  assert.notEqual(code, 0, output)
  return output.replaceAll(/\s*\n[│\s]*/g, ' ')
}

test(
  'the tool keeps its state here: init, apply, outputs, state commands, lock, workspaces',
  { skip: SKIPPED },
  async (t) => {
    const world = await aToolWorld(t)
    const one = await world.directory('one', {
      'main.tf': cloud(world.host, 'name = "one"') + RESOURCES,
    })
    const readWorkspace = async () => {
      const { json } = await world.api('GET', '/organizations/acme/workspaces/one')
      return JSON.stringify(json)
    }

    const newWorkspace = (name: string, relationships: object) =>
      world.api('POST', '/organizations/acme/workspaces', {
        data: { type: 'workspaces', attributes: { name }, relationships },
      })

    await t.test('C9 init creates the workspace', async () => {
      await ok(one.run('init'))
      assert.match(await readWorkspace(), /"name":"one"/)
      assert.match(await readWorkspace(), /"(?:tool|terraform)-version":"\d+\.\d+\.\d+"/)
    })

    await t.test('C6 apply runs here and stores the state; no run is created', async () => {
      assert.match(await ok(one.run('apply', '-auto-approve')), /2 added/)
      assert.match(await readWorkspace(), /"resource-count":2/)
      assert.match(await readWorkspace(), /"locked":false/)
      assert.match(await readWorkspace(), /"latest-run":\{"data":null\}/)
      assert.equal((await one.run('plan', '-detailed-exitcode')).code, 0)
    })

    await t.test(
      'C77 outputs of all types, numbers as they are, sensitive ones on request',
      async () => {
        assert.match(await ok(one.run('output')), /secret\s+= <sensitive>/)
        assert.equal((await ok(one.run('output', '-raw', 'secret'))).trim(), 's3cret-value')
        assert.match(await ok(one.run('output', '-json', 'shape')), /1234567/)
      },
    )

    await t.test('C68 state list, show, mv, rm, pull and push', async () => {
      assert.equal(await ok(one.run('state', 'list')), 'terraform_data.a\nterraform_data.b\n')
      assert.match(await ok(one.run('show')), /terraform_data\.a/)
      await ok(one.run('state', 'mv', 'terraform_data.a', 'terraform_data.c'))
      await ok(one.run('state', 'rm', 'terraform_data.c'))
      assert.equal(await ok(one.run('state', 'list')), 'terraform_data.b\n')
      const pulled = await ok(one.run('state', 'pull'))
      await writeFile(join(one.path, 'pulled.tfstate'), pulled)
      await ok(one.run('state', 'push', 'pulled.tfstate'))
      await ok(one.run('taint', 'terraform_data.b'))
      await ok(one.run('untaint', 'terraform_data.b'))
    })

    await t.test('C68 import', async () => {
      await ok(one.run('import', 'terraform_data.a', 'imported-id'))
      assert.match(await ok(one.run('state', 'list')), /terraform_data\.a/)
    })

    await t.test(
      'C69 a lower serial is pushed by force, another lineage is not pushed',
      async () => {
        const pushed = join(one.path, 'pulled.tfstate')
        await ok(one.run('state', 'push', '-force', 'pulled.tfstate'))
        const text = await readFile(pushed, 'utf8')
        await writeFile(pushed, text.replace(/"lineage": "[^"]*"/, '"lineage": "another"'))
        assert.match(await failed(one.run('state', 'push', 'pulled.tfstate')), /lineage/)
      },
    )

    await t.test('C74 a lock of somebody else stops writes, and force-unlock ends it', async () => {
      const { json } = await world.api('GET', '/organizations/acme/workspaces/one')
      const { id } = Object(Reflect.get(Object(json), 'data'))
      await world.api('POST', `/workspaces/${id}/actions/lock`, { reason: 'maintenance' })
      assert.match(await failed(one.run('apply', '-auto-approve')), /lock/i)
      await ok(one.run('force-unlock', '-force', 'acme/one'))
      assert.match(await readWorkspace(), /"locked":false/)
    })

    await t.test('C12 flat tags: workspace new, list, select and delete', async () => {
      const many = await world.directory('many', {
        'main.tf': cloud(world.host, 'tags = ["app", "net"]') + RESOURCES,
      })
      // C15: a workspace that is named by the environment has to exist.
      const absent = await failed(many.runWith({ TF_WORKSPACE: 'nowhere' }, 'init'))
      assert.match(absent, /failed to find workspace "nowhere"/)
      await newWorkspace('qa', { tags: { data: ['app', 'net'].map(flatTag) } })
      await ok(many.run('init'))
      await ok(many.run('workspace', 'new', 'prod'))
      assert.match(await ok(many.run('workspace', 'list')), /\* prod\s+qa/)
      await ok(many.run('workspace', 'select', 'qa'))
      assert.equal((await ok(many.run('workspace', 'show'))).trim(), 'qa')
      await ok(many.run('apply', '-auto-approve'))
      await ok(many.run('workspace', 'select', 'prod'))
      // C17: what manages resources is deleted only by force.
      assert.match(await failed(many.run('workspace', 'delete', 'qa')), /resource/)
      await ok(many.run('workspace', 'delete', '-force', 'qa'))
      assert.match(await ok(many.run('workspace', 'list')), /\* prod/)
    })

    await t.test('C13 tags with values', async () => {
      const pairs = await world.directory('pairs', {
        'main.tf': cloud(world.host, 'tags = { app = "web" }') + RESOURCES,
      })
      const pair = { type: 'tag-bindings', attributes: { key: 'app', value: 'web' } }
      await newWorkspace('web-qa', { 'tag-bindings': { data: [pair] } })
      await ok(pairs.run('init'))
      await ok(pairs.run('workspace', 'new', 'web-prod'))
      assert.match(await ok(pairs.run('workspace', 'list')), /\* web-prod\s+web-qa/)
    })

    await t.test('C11 the project of the configuration is created', async () => {
      const placed = await world.directory('placed', {
        'main.tf': cloud(world.host, 'name = "placed"\n project = "Platform"') + RESOURCES,
      })
      await ok(placed.run('init'))
      const { json } = await world.api('GET', '/organizations/acme/projects?filter[names]=Platform')
      assert.match(JSON.stringify(json), /"name":"Platform"/)
      // An existing workspace stays where it is.
      const elsewhere = cloud(world.host, 'name = "placed"\n project = "Elsewhere"')
      await writeFile(join(placed.path, 'main.tf'), elsewhere + RESOURCES)
      await ok(placed.run('init'))
      const path = '/organizations/acme/workspaces/placed?include=project'
      const { json: kept } = await world.api('GET', path)
      assert.match(JSON.stringify(kept), /"name":"Platform"/)
    })

    await t.test('C16 the remote backend with a prefix', async () => {
      const backend = `terraform {
  backend "remote" {
    hostname     = "${world.host}"
    organization = "acme"
    workspaces { prefix = "pre-" }
  }
}
`
      const remote = await world.directory('remote', { 'main.tf': backend + RESOURCES })
      await newWorkspace('pre-prod', {})
      await ok(remote.run('init', '-input=false'))
      await ok(remote.run('workspace', 'new', 'qa'))
      await ok(remote.run('apply', '-auto-approve'))
      assert.match(await ok(remote.run('output')), /plain\s+= "one"/)
      assert.match(await ok(remote.run('workspace', 'list')), /\* qa/)
    })

    await t.test('C8 login asks for a token, and keeps one that the server knows', async () => {
      const empty = join(one.path, 'empty.tfrc')
      await writeFile(empty, '')
      await mkdir(join(one.path, '.terraform.d'), { recursive: true })
      const environment = { TF_CLI_CONFIG_FILE: empty, HOME: one.path }
      const login = (token: string) =>
        one.answer({ args: ['login', world.host], answers: ['yes', token], environment })
      assert.match(await failed(login('unknown')), /invalid|unauthorized/i)
      assert.match(await ok(login(world.root)), /\/app\/settings\/tokens\?source=terraform-login/)
      const kept = await readFile(join(one.path, '.terraform.d/credentials.tfrc.json'), 'utf8')
      assert.equal(kept.includes(world.root), true)
    })

    await t.test('C10 a version that cannot be set is a notice', async () => {
      const token = await createOnlyToken(world)
      const file = join(one.path, 'create-only.tfrc')
      await writeFile(file, `credentials "${world.host}" { token = "${token}" }\n`)
      const limited = await world.directory('limited', {
        'main.tf': cloud(world.host, 'name = "limited"\n project = "Limited"') + RESOURCES,
      })
      const output = await ok(limited.runWith({ TF_CLI_CONFIG_FILE: file }, 'init'))
      assert.match(output, /not\s+available|unavailable/i)
    })

    await t.test('C19 a list of more than one page', async () => {
      const names = Array.from({ length: 23 }, (_, at) => `page-${String(at).padStart(2, '0')}`)
      for (const name of names) await newWorkspace(name, { tags: { data: [flatTag('paged')] } })
      const paged = await world.directory('paged', {
        'main.tf': cloud(world.host, 'tags = ["paged"]') + RESOURCES,
      })
      const selected = { TF_WORKSPACE: names[0] ?? '' }
      await ok(paged.runWith(selected, 'init'))
      const listed = await ok(paged.runWith(selected, 'workspace', 'list'))
      assert.deepEqual(listed.match(/page-\d\d/g), names)
    })

    await t.test('C78 a state of 60 MB', async () => {
      const large = await world.directory('large', {
        'main.tf': cloud(world.host, 'name = "large"') + RESOURCES,
      })
      await ok(large.run('init'))
      await writeFile(join(large.path, 'large.tfstate'), largeState())
      await ok(large.run('state', 'push', 'large.tfstate'))
      const { code, output } = await large.run('state', 'pull')
      assert.equal(code, 0)
      assert.ok(output.length > LARGE_STATE_BYTES)
      assert.equal(output.includes('"name": "large-60"'), true)
    })

    await t.test('destroy leaves an empty state', async () => {
      assert.match(await ok(one.run('destroy', '-auto-approve')), /destroyed/)
      assert.match(await readWorkspace(), /"resource-count":0/)
    })
  },
)

test('C2 the tool names the host that offers no such service', { skip: SKIPPED }, async (t) => {
  const world = await aToolWorld(t, { REEVE_COMPATIBILITY: 'false' })
  const one = await world.directory('one', { 'main.tf': cloud(world.host, 'name = "one"') })
  const output = await failed(one.run('init'))
  assert.match(output, /does not (?:provide|support|offer)/)
  assert.equal(output.includes(world.host), true)
})

/** The token of a team that may create workspaces in the project Limited, and not update them. */
async function createOnlyToken(world: ToolWorld): Promise<string> {
  const post = async (path: string, data?: object): Promise<v2.Team> => {
    const { status, json } = await world.api('POST', path, data && { data })
    assert.equal(status, 201, JSON.stringify(json))
    return Object(json).data
  }
  const team = await post('/organizations/acme/teams', {
    type: 'teams',
    attributes: { name: 'creators' },
  })
  const project = await post('/organizations/acme/projects', {
    type: 'projects',
    attributes: { name: 'Limited' },
  })
  const access = { runs: 'read', 'state-versions': 'read', variables: 'none', create: true }
  await post('/team-projects', {
    type: 'team-projects',
    attributes: { access: 'custom', 'workspace-access': access },
    relationships: {
      team: { data: { type: 'teams', id: team.id } },
      project: { data: { type: 'projects', id: project.id } },
    },
  })
  const { attributes } = await post(`/teams/${team.id}/authentication-token`)
  return String(Reflect.get(attributes, 'token'))
}

const LARGE_STATE_BYTES = 60 * 1024 * 1024

/** A state whose resources have large values. */
function largeState(): string {
  const text = 'x'.repeat(1024 * 1024)
  const resources = Array.from({ length: 61 }, (_, at) => ({
    mode: 'managed',
    type: 'terraform_data',
    name: `large-${at}`,
    provider: 'provider["terraform.io/builtin/terraform"]',
    instances: [
      {
        schema_version: 0,
        attributes: {
          id: String(at),
          input: { value: text, type: 'string' },
          output: { value: '', type: 'string' },
          triggers_replace: null,
        },
        sensitive_attributes: [],
      },
    ],
  }))
  const head = { version: 4, terraform_version: '1.5.0', serial: 1, lineage: 'large-lineage' }
  return JSON.stringify({ ...head, outputs: {}, resources, check_results: null })
}
