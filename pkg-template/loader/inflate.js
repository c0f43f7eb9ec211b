// The one function of fflate that the package ships.
export { inflateSync } from "fflate";
