import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatDiagnostic, formatRange } from '@reeve/hcl'
import { canonicalizeJob, validateJob } from '../model/index.ts'
import { parseJobFile, type JobFile } from './parse-job-file.ts'

const request = { file: 'input.hcl', strict: true, files: undefined, random: { next: () => 0 } }

function read(text: string): JobFile {
  const result = parseJobFile({ ...request, text })
  assert.ok(result.ok, result.ok ? '' : result.error.map(formatDiagnostic).join('\n'))
  return result.value
}

const task = (inner: string) => `job "j" {\ngroup "g" {\ntask "t" {\n${inner}\n}\n}\n}`

test('positions: a field, an element, a key, a block, and the nearest part for the rest', () => {
  const { positions } = read(
    `job "web" {
  datacenters = ["dc1", ""]
  meta = { "team.name" = "x" }
  group "g" {
    volume "a.b" { source = "" }
    network {
      port "http" { static = 70000 }
    }
    service {
      name = "s"
    }
  }
}`,
  )
  const at = (path: string) => formatRange(positions.find(path)).replace('input.hcl:', '')
  assert.equal(at(''), '1,1-10')
  assert.equal(at('ID'), '1,1-10')
  assert.equal(at('Datacenters'), '2,17-28')
  assert.equal(at('Datacenters[1]'), '2,25-27')
  assert.equal(at('Meta.team.name'), '3,26-29')
  assert.equal(at('TaskGroups[0]'), '4,3-12')
  assert.equal(at('TaskGroups[0].Count'), '4,3-12')
  assert.equal(at('TaskGroups[0].Volumes[a.b].Source'), '5,29-31')
  assert.equal(at('TaskGroups[0].Volumes.a.b.Type'), '5,5-17')
  assert.equal(at('TaskGroups[0].Volumes[c].Type'), '5,5-17')
  assert.equal(at('TaskGroups[0].Networks[0].ReservedPorts[0].Value'), '7,30-35')
  assert.equal(at('TaskGroups[0].Networks[0].ReservedPorts[0].Label'), '7,7-18')
  assert.equal(at('TaskGroups[0].Services[0].Name'), '10,14-17')
  assert.equal(at('TaskGroups[7].Tasks[0]'), '4,3-12')
  assert.equal(at(']['), '1,1-10')
})

test('positions: what validation finds leads back to the text', () => {
  const { job, positions } = read(task('driver = ""\nkill_timeout = "-1s"'))
  const full = canonicalizeJob(job, { region: 'global', namespace: 'default', nodePool: 'default' })
  const places = validateJob(full).list.map(({ path }) => formatRange(positions.find(path)))
  assert.ok(places.includes('input.hcl:4,10-12'))
  assert.ok(places.includes('input.hcl:5,16-21'))
})
