import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TSchema } from 'typebox'
import { ErrorDocument } from './json-api.ts'
import {
  CreatedRunPolicy,
  RunPolicy,
  RunPolicyCreateRequest,
  RunPolicyUpdateRequest,
} from './policy.ts'
import {
  CreatedProject,
  MoveWorkspacesRequest,
  Project,
  ProjectCreateRequest,
  ProjectPage,
  ProjectUpdateRequest,
} from './project.ts'
import {
  ChangedTagBinding,
  EffectiveTagBinding,
  TagBinding,
  TagBindingsChangeRequest,
} from './tag-binding.ts'

/** As much of JSON Schema as these tests read. */
interface JsonSchema {
  readonly type?: string
  readonly properties?: { readonly [name: string]: JsonSchema }
  readonly required?: readonly string[]
  readonly items?: JsonSchema
  readonly anyOf?: readonly JsonSchema[]
}

/** Follows `a.b[].c` through a schema, and through `null` beside it. */
function fieldAt(schema: JsonSchema, path: string): JsonSchema | undefined {
  const steps = path.replaceAll('[]', '.[]').split('.')
  return steps.reduce<JsonSchema | undefined>((current, step) => {
    const whole = current === undefined ? undefined : (withoutNull(current) ?? current)
    return step === '[]' ? whole?.items : whole?.properties?.[step]
  }, schema)
}

function withoutNull(schema: JsonSchema): JsonSchema | undefined {
  return schema.anyOf?.find((each) => each.type !== 'null')
}

/** True when no step on the way to the field may be missing. */
function isAlwaysThere(schema: JsonSchema, path: string): boolean {
  const cut = path.lastIndexOf('.')
  const [before, name] = [path.slice(0, Math.max(cut, 0)), path.slice(cut + 1)]
  const parent = before === '' ? schema : fieldAt(schema, before)
  const here = parent?.required?.includes(name.replace('[]', '')) === true
  return here && (before === '' || isAlwaysThere(schema, before))
}

/** The type of a field in the words of the spec's tables. */
function wordFor(schema: JsonSchema | undefined): string {
  if (schema === undefined) return 'absent'
  const inner = withoutNull(schema)
  return inner === undefined ? (schema.type ?? 'unknown') : `${wordFor(inner)} or null`
}

// The tables, field by field; types in the words of the tables. Two fields are wider than the table
// says, because a value can be missing: `query` of a native policy, an unset duration.
const tables: readonly {
  readonly name: string
  readonly schema: TSchema
  readonly fields: { readonly [path: string]: string }
  /** Of a request: what must be sent. An answer always has all its fields. */
  readonly needed?: readonly string[]
}[] = [
  {
    name: 'project (update, list, show)',
    schema: Project,
    fields: {
      id: 'string',
      type: 'string',
      'attributes.name': 'string',
      'attributes.description': 'string or null',
      'attributes.workspace-count': 'integer',
      'attributes.team-count': 'integer',
      'attributes.permissions': 'object',
      'attributes.permissions.can-update': 'boolean',
      'attributes.permissions.can-destroy': 'boolean',
      'attributes.permissions.can-create-workspace': 'boolean',
      'attributes.auto-destroy-activity-duration': 'string or null',
      'relationships.organization': 'object',
      'relationships.organization.data.id': 'string',
      'relationships.organization.data.type': 'string',
      'relationships.organization.links.related': 'string',
      'relationships.tag-bindings.links.related': 'string',
      'relationships.effective-tag-bindings.links.related': 'string',
      'links.self': 'string',
    },
  },
  {
    name: 'project (create)',
    schema: CreatedProject,
    fields: {
      id: 'string',
      'attributes.name': 'string',
      'attributes.description': 'string or null',
      'attributes.workspace-count': 'absent',
      'attributes.team-count': 'absent',
      'attributes.permissions.can-update': 'boolean',
      'attributes.permissions.can-destroy': 'absent',
      'attributes.permissions.can-create-workspace': 'absent',
      'relationships.organization.data.id': 'string',
      'relationships.tag-bindings.links.related': 'string',
      'relationships.effective-tag-bindings.links.related': 'string',
      'links.self': 'string',
    },
  },
  {
    name: 'tag binding (list)',
    schema: TagBinding,
    fields: {
      type: 'string',
      'attributes.key': 'string',
      'attributes.value': 'string',
      'attributes.created-at': 'string',
    },
  },
  {
    name: 'effective tag binding (list)',
    schema: EffectiveTagBinding,
    fields: {
      type: 'string',
      'attributes.key': 'string',
      'attributes.value': 'string',
      'attributes.created-at': 'string',
    },
  },
  {
    name: 'tag binding (PATCH)',
    schema: ChangedTagBinding,
    fields: {
      id: 'string',
      type: 'string',
      'attributes.key': 'string',
      'attributes.value': 'string',
      'attributes.created-at': 'absent',
    },
  },
  {
    name: 'policy (show, update, list)',
    schema: RunPolicy,
    fields: {
      id: 'string',
      type: 'string',
      'attributes.name': 'string',
      'attributes.description': 'string or null',
      'attributes.kind': 'string',
      'attributes.query': 'string or null',
      'attributes.enforcement-level': 'string',
      'attributes.enforce': 'array',
      'attributes.enforce[].path': 'string',
      'attributes.enforce[].mode': 'string',
      'attributes.policy-set-count': 'integer',
      'attributes.updated-at': 'string or null',
      'relationships.organization.data.id': 'string',
      'relationships.organization.data.type': 'string',
      'relationships.policy-sets.data': 'array',
      'relationships.policy-sets.data[].id': 'string',
      'relationships.policy-sets.data[].type': 'string',
      'links.self': 'string',
      'links.upload': 'string',
      'links.download': 'string',
    },
  },
  {
    name: 'policy (create)',
    schema: CreatedRunPolicy,
    fields: {
      id: 'string',
      'attributes.enforce[].mode': 'string',
      'relationships.policy-sets.data': 'array',
      'links.self': 'string',
      'links.upload': 'string',
      'links.download': 'absent',
    },
  },
  {
    name: 'error',
    schema: ErrorDocument,
    fields: {
      errors: 'array',
      'errors[].status': 'string',
      'errors[].title': 'string',
      'errors[].detail': 'string',
    },
  },
  {
    name: 'list of projects',
    schema: ProjectPage,
    fields: {
      data: 'array',
      'data[].id': 'string',
      'links.self': 'string',
      'links.first': 'string',
      'links.prev': 'string or null',
      'links.next': 'string or null',
      'links.last': 'string',
      'meta.status-counts.total': 'integer',
      'meta.status-counts.matching': 'integer',
      'meta.pagination.current-page': 'integer',
      'meta.pagination.page-size': 'integer',
      'meta.pagination.prev-page': 'integer or null',
      'meta.pagination.next-page': 'integer or null',
      'meta.pagination.total-pages': 'integer',
      'meta.pagination.total-count': 'integer',
    },
  },
  {
    name: 'project create request',
    schema: ProjectCreateRequest,
    fields: {
      'data.type': 'string',
      'data.attributes.name': 'string',
      'data.attributes.description': 'string or null',
      'data.attributes.auto-destroy-activity-duration': 'string or null',
      'data.relationships.tag-bindings.data': 'array',
      'data.relationships.tag-bindings.data[].type': 'string',
      'data.relationships.tag-bindings.data[].attributes.key': 'string',
      'data.relationships.tag-bindings.data[].attributes.value': 'string or null',
    },
    needed: ['data.type', 'data.attributes.name'],
  },
  {
    name: 'project update request',
    schema: ProjectUpdateRequest,
    fields: {
      'data.type': 'string',
      'data.attributes.name': 'string',
      'data.attributes.description': 'string or null',
      'data.attributes.auto-destroy-activity-duration': 'string or null',
      'data.relationships.tag-bindings.data[].attributes.key': 'string',
    },
    needed: ['data.type'],
  },
  {
    name: 'tag bindings request',
    schema: TagBindingsChangeRequest,
    fields: {
      'data[].type': 'string',
      'data[].attributes.key': 'string',
      'data[].attributes.value': 'string or null',
    },
    needed: ['data[].type', 'data[].attributes.key'],
  },
  {
    name: 'move request',
    schema: MoveWorkspacesRequest,
    fields: { data: 'array', 'data[].type': 'string', 'data[].id': 'string' },
    needed: ['data', 'data[].type', 'data[].id'],
  },
  {
    name: 'policy create request',
    schema: RunPolicyCreateRequest,
    fields: {
      'data.type': 'string',
      'data.attributes.name': 'string',
      'data.attributes.description': 'string or null',
      'data.attributes.kind': 'string',
      'data.attributes.query': 'string or null',
      'data.attributes.enforcement-level': 'string',
      'data.attributes.enforce': 'array',
      'data.attributes.enforce[].path': 'string or null',
      'data.attributes.enforce[].mode': 'string',
      'data.relationships.policy-sets.data': 'array',
      'data.relationships.policy-sets.data[].id': 'string',
      'data.relationships.policy-sets.data[].type': 'string',
    },
    needed: ['data.type', 'data.attributes.name'],
  },
  {
    name: 'policy update request',
    schema: RunPolicyUpdateRequest,
    fields: {
      'data.type': 'string',
      'data.attributes.description': 'string or null',
      'data.attributes.query': 'string or null',
      'data.attributes.enforcement-level': 'string',
      'data.attributes.enforce[].path': 'string or null',
      'data.attributes.enforce[].mode': 'string',
    },
    needed: ['data.type'],
  },
]

for (const { name, schema, fields, needed } of tables) {
  const paths = Object.keys(fields)

  test(`${name}: every field of the spec's table is there with its type`, () => {
    for (const path of paths) assert.equal(wordFor(fieldAt(schema, path)), fields[path], path)
  })

  test(`${name}: what may be missing is what the spec lets be missing`, () => {
    const present = paths.filter((path) => fields[path] !== 'absent')
    const always = present.filter((path) => isAlwaysThere(schema, path))
    assert.deepEqual(always, needed ?? present)
  })
}
