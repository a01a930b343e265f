// tidy-allow vendor: the names of the programs that are executed, and of a field that they print

/** The planning tools that nodes may have; the first is taken unless the settings say another. */
export const TOOLS = ['terraform', 'tofu'] as const
export type ToolName = (typeof TOOLS)[number]

/** Where `version -json` of the tools says their version. */
export const VERSION_FIELD = 'terraform_version'

/** Constraints name the version of the tool by this attribute of nodes. */
export function toolAttribute(tool: string): string {
  return `infrastructure.${tool}.version`
}
