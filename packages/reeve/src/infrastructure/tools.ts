// tidy-allow vendor: the names of the programs that are executed, and of a field that they print

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
export function toolVersions(
  attributes: Readonly<Record<string, string>>,
  tool: string,
): readonly string[] {
  const [before = '', after = ''] = toolPathAttribute(tool, ' ').split(' ')
  return Object.keys(attributes)
    .filter((name) => name.startsWith(before) && name.endsWith(after))
    .map((name) => name.slice(before.length, -after.length))
    .filter((version) => version !== '')
}
