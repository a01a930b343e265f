import assert from 'node:assert/strict'
import test from 'node:test'
import type { Input, Job, Service, Task, TaskGroup } from '@reeve/contract'
import { aGroup, aJob, aTask } from '../../../test/build/job.ts'
import { LIMITS } from '../limits.ts'
import { validateJob } from './validate-job.ts'

/** Control characters: colour, cursor movement, and a byte that acts on some terminals alone. */
const HOSTILE = ['\u001b', '\n', '\u0000', '\u007f', '\u009b']

const withGroup = (fields: Input<TaskGroup>): Job => aJob({ groups: [aGroup(fields)] })
const withTask = (fields: Input<Task>): Job => withGroup({ Tasks: [aTask(fields)] })
const withService = (fields: Input<Service>): Job => withGroup({ Services: [fields] })
const T = 'TaskGroups[0].Tasks[0]'
const G = 'TaskGroups[0]'

/** Every name of a job with the path of the problem and a job that has the name there. */
const NAMES: readonly (readonly [path: string, job: (name: string) => Job])[] = [
  ['ID', (ID) => aJob({ ID })],
  ['Name', (Name) => aJob({ Name })],
  ['NodePool', (NodePool) => aJob({ NodePool })],
  ['Datacenters[0]', (name) => aJob({ Datacenters: [name] })],
  ['Meta', (name) => aJob({ Meta: { [name]: 'x' } })],
  [
    'ParameterizedJob.MetaRequired[0]',
    (name) => aJob({ Type: 'batch', ParameterizedJob: { MetaRequired: [name] } }),
  ],
  [
    'ParameterizedJob.MetaOptional[0]',
    (name) => aJob({ Type: 'batch', ParameterizedJob: { MetaOptional: [name] } }),
  ],
  [`${G}.Name`, (Name) => withGroup({ Name })],
  [`${G}.Meta`, (name) => withGroup({ Meta: { [name]: 'x' } })],
  [
    `${G}.Volumes`,
    (name) => withGroup({ Volumes: { [name]: { Name: name, Type: 'host', Source: 's' } } }),
  ],
  [
    `${G}.Volumes[v].Source`,
    (Source) => withGroup({ Volumes: { v: { Name: 'v', Type: 'host', Source } } }),
  ],
  [`${G}.Networks[0].Mode`, (name) => withGroup({ Networks: [{ Mode: `cni/${name}` }] })],
  [`${G}.Networks[0].Hostname`, (Hostname) => withGroup({ Networks: [{ Hostname }] })],
  [
    `${G}.Networks[0].CNI.Args`,
    (name) => withGroup({ Networks: [{ Mode: 'cni/a', CNI: { Args: { [name]: 'x' } } }] }),
  ],
  [
    `${G}.Networks[0].DynamicPorts[0].Label`,
    (Label) => withGroup({ Networks: [{ DynamicPorts: [{ Label }] }] }),
  ],
  [
    `${G}.Networks[0].ReservedPorts[0].Label`,
    (Label) => withGroup({ Networks: [{ ReservedPorts: [{ Label, Value: 80 }] }] }),
  ],
  [
    `${G}.Networks[0].DynamicPorts[0].HostNetwork`,
    (HostNetwork) => withGroup({ Networks: [{ DynamicPorts: [{ Label: 'a', HostNetwork }] }] }),
  ],
  [`${G}.Services[0].Name`, (Name) => withService({ Name })],
  [`${G}.Services[0].PortLabel`, (PortLabel) => withService({ Name: 'a', PortLabel })],
  [`${G}.Services[0].Tags[0]`, (tag) => withService({ Name: 'a', Tags: [tag] })],
  [`${G}.Services[0].CanaryTags[0]`, (tag) => withService({ Name: 'a', CanaryTags: [tag] })],
  [`${G}.Services[0].Meta`, (name) => withService({ Name: 'a', Meta: { [name]: 'x' } })],
  [
    `${G}.Services[0].Checks[0].Name`,
    (Name) => withService({ Name: 'a', Checks: [{ Name, Type: 'tcp' }] }),
  ],
  [
    `${G}.Services[0].Checks[0].Header`,
    (name) => withService({ Name: 'a', Checks: [{ Type: 'http', Header: { [name]: ['x'] } }] }),
  ],
  [`${T}.Name`, (Name) => withTask({ Name })],
  [`${T}.Driver`, (Driver) => withTask({ Driver })],
  [`${T}.User`, (User) => withTask({ User })],
  [`${T}.Env`, (name) => withTask({ Env: { [name]: 'x' } })],
  [`${T}.Meta`, (name) => withTask({ Meta: { [name]: 'x' } })],
  [`${T}.Config`, (name) => withTask({ Config: { labels: [{ [name]: 'x' }] } })],
  [`${T}.DispatchPayload.File`, (File) => withTask({ DispatchPayload: { File } })],
  [`${T}.Artifacts[0].GetterSource`, (name) => withTask({ Artifacts: [{ GetterSource: name }] })],
  [
    `${T}.Artifacts[0].RelativeDest`,
    (RelativeDest) => withTask({ Artifacts: [{ GetterSource: 'http://a/b', RelativeDest }] }),
  ],
  [
    `${T}.Artifacts[0].GetterOptions`,
    (name) =>
      withTask({ Artifacts: [{ GetterSource: 'http://a/b', GetterOptions: { [name]: 'x' } }] }),
  ],
  [
    `${T}.Artifacts[0].GetterHeaders`,
    (name) =>
      withTask({ Artifacts: [{ GetterSource: 'http://a/b', GetterHeaders: { [name]: 'x' } }] }),
  ],
  [
    `${T}.Templates[0].SourcePath`,
    (SourcePath) => withTask({ Templates: [{ SourcePath, DestPath: 'local/a' }] }),
  ],
  [
    `${T}.Templates[0].DestPath`,
    (DestPath) => withTask({ Templates: [{ EmbeddedTmpl: 'x', DestPath }] }),
  ],
  [
    `${T}.VolumeMounts[0].Volume`,
    (Volume) => withTask({ VolumeMounts: [{ Volume, Destination: '/d' }] }),
  ],
  [
    `${T}.VolumeMounts[0].Destination`,
    (Destination) => withTask({ VolumeMounts: [{ Volume: 'v', Destination }] }),
  ],
  [`${T}.Services[0].Name`, (Name) => withTask({ Services: [{ Name }] })],
  [`${T}.Actions[0].Name`, (Name) => withTask({ Actions: [{ Name, Command: 'a' }] })],
]

/** Null characters in these have their own message, which clients know. */
const OWN_NULL_TEXT = new Set(['ID', 'Name', `${G}.Name`, `${T}.Name`])

for (const [path, job] of NAMES)
  test(`names: ${path} must not contain control characters`, () => {
    for (const character of HOSTILE) {
      const found = validateJob(job(`ab${character}c`)).list.filter((one) => one.path === path)
      if (character === '\0' && OWN_NULL_TEXT.has(path)) {
        assert.match(found.map(({ message }) => message).join(), /null character/)
        continue
      }
      const code = `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
      const text = found.map(({ message }) => message).find((one) => one.includes('control'))
      const prefix = path.endsWith('.Mode') ? 'cni/' : ''
      const where = `contains the control character ${code} at position ${prefix.length + 3}`
      assert.ok(text?.endsWith(`"${prefix}ab${code}c" ${where}`), `${path}: ${text}`)
    }
    const clean = validateJob(job('abc')).text
    assert.doesNotMatch(clean, /control character/)
  })

test('names: free text may contain any character', () => {
  const job = withTask({
    Env: { A: 'two\nlines' },
    Meta: { note: 'a\tb' },
    Config: { command: 'sh', args: ['-c', 'echo one\necho two'] },
    Templates: [{ DestPath: 'local/a', EmbeddedTmpl: 'a\nb\n' }],
  })
  assert.equal(validateJob(job).text, '')
})

test('names: long name is truncated in the message only', () => {
  const most = LIMITS.shownNameCharsMax
  for (const [length, isCut] of [
    [most, false],
    [most + 1, true],
  ] as const) {
    const name = `\n${'a'.repeat(length - 1)}`
    const { list } = validateJob(withTask({ Env: { [name]: 'x' } }))
    assert.equal(list[0]?.message.includes('…'), isCut)
  }
})
