// tidy-allow vendor: the name of the tool is part of node attributes and messages
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ok } from '@reeve/kit/result.ts'
import {
  chooseNodeVersion,
  chooseRemoteVersion,
  type ToolNode,
  toolPathAttribute,
} from './tools.ts'

interface NodeFields {
  readonly status?: ToolNode['Status']
  readonly eligibility?: ToolNode['SchedulingEligibility']
}

function nodeWith(versions: readonly string[], fields: NodeFields = {}): ToolNode {
  const paths = versions.map((version) => [toolPathAttribute('terraform', version), '/bin/tool'])
  return {
    Attributes: Object.fromEntries([...paths, ['infrastructure.terraform.path', '/bin/tool']]),
    Status: fields.status ?? 'ready',
    SchedulingEligibility: fields.eligibility ?? 'eligible',
  }
}

const OLD = nodeWith(['1.9.8'])
const BOTH = nodeWith(['1.9.8', '1.11.4'])
const NEXT = nodeWith(['1.12.0-rc1'])
const DOWN = nodeWith(['1.13.0'], { status: 'down' })
const DRAINED = nodeWith(['1.13.0'], { eligibility: 'ineligible' })

const CHOICES = [
  { name: 'the latest version by default', wanted: null, nodes: [OLD, BOTH], version: '1.11.4' },
  { name: 'the latest on request', wanted: 'latest', nodes: [BOTH, OLD], version: '1.11.4' },
  { name: 'an exact version', wanted: '1.9.8', nodes: [BOTH], version: '1.9.8' },
  { name: 'the latest of a range', wanted: '~> 1.9', nodes: [OLD, BOTH], version: '1.11.4' },
  { name: 'a range that ends', wanted: '>= 1.0, < 1.10', nodes: [BOTH], version: '1.9.8' },
  { name: 'a release before a pre-release', wanted: null, nodes: [OLD, NEXT], version: '1.9.8' },
  { name: 'a pre-release alone', wanted: null, nodes: [NEXT], version: '1.12.0-rc1' },
  {
    name: 'what an eligible node has',
    wanted: null,
    nodes: [OLD, DOWN, DRAINED],
    version: '1.9.8',
  },
  {
    name: 'what only a node that is down has',
    wanted: '1.13.0',
    nodes: [OLD, DOWN],
    version: '1.13.0',
  },
  { name: 'none before the first node', wanted: '1.11.4', nodes: [], version: undefined },
]
for (const { name, wanted, nodes, version } of CHOICES)
  test(`tool version: ${name}`, () => {
    assert.deepEqual(chooseNodeVersion('terraform', wanted, nodes), ok(version))
  })

const PROBLEMS = [
  {
    name: 'no node has the version',
    wanted: '1.10.0',
    nodes: [BOTH],
    says: 'No node has terraform 1.10.0; nodes have 1.9.8, 1.11.4. Install it',
  },
  {
    name: 'no node has the tool',
    wanted: null,
    nodes: [nodeWith([])],
    says: 'No node has terraform. Install it on a node, in the PATH of the agent.',
  },
  {
    name: 'the version of the workspace is malformed',
    wanted: 'newest',
    nodes: [BOTH],
    says: 'The tool version "newest" of the workspace is neither a version',
  },
]
for (const { name, wanted, nodes, says } of PROBLEMS)
  test(`tool version: ${name}`, () => {
    const choice = chooseNodeVersion('terraform', wanted, nodes)
    assert.ok(!choice.ok && choice.error.startsWith(says), JSON.stringify(choice))
  })

const PLACEHOLDER = 'tools.example/terraform:{version}'
const FIXED = 'tools.example/terraform:stable'
const REMOTE = [
  { name: 'the exact version', address: PLACEHOLDER, wanted: '1.9.8', gets: '1.9.8' },
  { name: 'the default', address: PLACEHOLDER, version: '1.11.4', wanted: null, gets: '1.11.4' },
  {
    name: 'the default in its range',
    address: PLACEHOLDER,
    version: '1.11.4',
    wanted: '~> 1.9',
    gets: '1.11.4',
  },
  { name: 'the only version', address: FIXED, wanted: '1.9.8', gets: null },
  {
    name: 'no version without default',
    address: PLACEHOLDER,
    wanted: 'latest',
    says: /exact version/,
  },
  {
    name: 'no version outside of its range',
    address: PLACEHOLDER,
    version: '1.11.4',
    wanted: '< 1.9',
    says: /requires < 1.9/,
  },
  {
    name: 'no other version than the only one',
    address: FIXED,
    version: '1.11.4',
    wanted: '1.9.8',
    says: /provide terraform 1.11.4/,
  },
]
for (const { name, address, version, wanted, gets, says } of REMOTE)
  test(`tool version: a workspace gets from an image ${name}`, () => {
    const choice = chooseRemoteVersion({ tool: 'terraform', address, version }, wanted)
    if (says === undefined) assert.deepEqual(choice, ok(gets))
    else assert.match(choice.ok ? '' : choice.error, says)
  })
