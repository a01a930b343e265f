// tidy-allow vendor: the names of the programs that are executed, and of a field that they print
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { compareVersions } from '@reeve/kit/version.ts'
import { parseVersionConstraint, parseConstraintVersion, type NodeRow } from '../model/index.ts'

/** The planning tools that nodes may have; the first is the default. */
export const TOOLS = ['terraform', 'tofu'] as const
export type ToolName = (typeof TOOLS)[number]

/** Where the tool of a phase comes from. */
export const TOOL_SOURCES = ['node', 'artifact', 'image'] as const
export type ToolSource = (typeof TOOL_SOURCES)[number]

/** Field of the output of `version -json` that holds the version of the tool. */
export const VERSION_FIELD = 'terraform_version'

/** Node attribute with the version of the tool that is first on the path of the agent. */
export function toolAttribute(tool: string): string {
  return `infrastructure.${tool}.version`
}

/** Node attribute with the path of one version of a tool. A node may have several versions. */
export function toolPathAttribute(tool: string, version: string): string {
  return `infrastructure.${tool}.${version}.path`
}

/** Returns the versions of a tool that the attributes of a node list. */
function toolVersions(
  attributes: Readonly<Record<string, string>>,
  tool: string,
): readonly string[] {
  const [before = '', after = ''] = toolPathAttribute(tool, ' ').split(' ')
  return Object.keys(attributes)
    .filter((name) => name.startsWith(before) && name.endsWith(after))
    .map((name) => name.slice(before.length, -after.length))
    .filter((version) => version !== '')
}

/** A node, as far as the choice of a version is concerned. */
export type ToolNode = Pick<NodeRow, 'Attributes' | 'Status' | 'SchedulingEligibility'>

const LATEST = 'latest'

/**
 * Returns the version of the tool that a phase uses: the latest one that satisfies the workspace
 * and that an eligible node has. A node that is down counts if no other node has a suitable
 * version, because it may return. Undefined while no node is registered. The error is a sentence
 * for users.
 */
export function chooseNodeVersion(
  tool: ToolName,
  requested: string | null,
  nodes: readonly ToolNode[],
): Result<string | undefined, string> {
  const test = versionTest(requested)
  if (!test.ok) return test
  if (nodes.length === 0) return ok(undefined)
  const eligible = nodes.filter(isEligible)
  for (const candidates of [eligible, nodes]) {
    const found = latestVersion(versionsOnNodes(candidates, tool).filter(test.value))
    if (found !== undefined) return ok(found)
  }
  const available = versionsOnNodes(nodes, tool)
  const description = requested === null || requested === LATEST ? tool : `${tool} ${requested}`
  if (available.length === 0)
    return err(`No node has ${description}. Install it on a node, in the PATH of the agent.`)
  const availableText = available.toSorted(compareByVersion).join(', ')
  return err(
    `No node has ${description}; nodes have ${availableText}. Install it on a node, or change the version of ` +
      'the workspace.',
  )
}

/** Placeholder of the version in the address of an artifact or the name of an image. */
export const VERSION_PLACEHOLDER = '{version}'

/** The tool of an artifact or image, whose versions are not listed anywhere. */
interface RemoteTool {
  readonly tool: ToolName
  /** Address of the artifact or name of the image. */
  readonly address: string
  /** Its version, or the default if the address contains a placeholder. */
  readonly version: string | undefined
}

const EXACT_VERSION = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/

/**
 * Returns the version that a workspace gets from an artifact or image; null if it is unknown,
 * because the address names one archive or image for all. The error is a sentence for users.
 */
export function chooseRemoteVersion(
  { tool, address, version }: RemoteTool,
  requested: string | null,
): Result<string | null, string> {
  const test = versionTest(requested)
  if (!test.ok) return test
  const isSelectable = address.includes(VERSION_PLACEHOLDER)
  if (isSelectable && requested !== null && EXACT_VERSION.test(requested)) return ok(requested)
  if (version === undefined) {
    if (!isSelectable) return ok(null)
    return err(
      `${address} needs an exact version of ${tool}. Set the tool version of the workspace, or ` +
        'infrastructure.version on the servers.',
    )
  }
  if (test.value(version)) return ok(version)
  return err(
    `The servers provide ${tool} ${version}, and the workspace requires ${requested ?? LATEST}. ` +
      'Change the version of the workspace.',
  )
}

/** Returns a test for versions that the workspace accepts. */
function versionTest(requested: string | null): Result<(version: string) => boolean, string> {
  if (requested === null || requested === LATEST) return ok(() => true)
  const constraint = parseVersionConstraint(requested, 'loose')
  if (!constraint.ok)
    return err(
      `The tool version "${requested}" of the workspace is neither a version, nor a constraint such ` +
        'as "~> 1.11", nor "latest".',
    )
  return ok((text) => {
    const version = parseConstraintVersion(text, 'loose')
    return version !== undefined && constraint.value(version)
  })
}

function isEligible({ Status, SchedulingEligibility }: ToolNode): boolean {
  return Status === 'ready' && SchedulingEligibility === 'eligible'
}

function versionsOnNodes(nodes: readonly ToolNode[], tool: ToolName): readonly string[] {
  return [...new Set(nodes.flatMap(({ Attributes }) => toolVersions(Attributes, tool)))]
}

/** Returns the latest version; a pre-release only if there is no release. */
function latestVersion(versions: readonly string[]): string | undefined {
  const releases = versions.filter(
    (text) => parseConstraintVersion(text, 'loose')?.prerelease.length === 0,
  )
  return (releases.length > 0 ? releases : versions).toSorted(compareByVersion).at(-1)
}

function compareByVersion(a: string, b: string): number {
  const [left, right] = [parseConstraintVersion(a, 'loose'), parseConstraintVersion(b, 'loose')]
  return left === undefined || right === undefined ? 0 : compareVersions(left, right)
}
